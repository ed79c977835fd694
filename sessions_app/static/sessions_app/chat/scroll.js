// Scrolling: follow the end of the conversation while it is in view, otherwise offer a button to get there.

const NEAR_END_PIXELS = 90;

export class Scroll {
  #isFollowing = true;
  #lastScrollY = 0;

  constructor(content, button) {
    this.button = button;
    this.content = content;
    addEventListener("scroll", () => this.#onScroll(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#onResize()).observe(content);
    addEventListener("resize", () => this.#onResize());
    this.toEnd();
  }

  toEnd() {
    this.#isFollowing = true;
    this.button.hidden = true;
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  }

  /** Show the button when new content is out of view. */
  offerNewest() {
    if (!this.#isFollowing) this.button.hidden = false;
  }

  /** Change content above the anchor without moving the visible content. */
  keepPlace(anchor, change) {
    const before = anchor.getBoundingClientRect().top;
    change();
    scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  }

  #onScroll() {
    const root = document.documentElement;
    const isNear = root.scrollHeight - innerHeight - scrollY < NEAR_END_PIXELS;
    // Only scrolling up stops the following: the end may have moved before this event was delivered.
    if (isNear || scrollY < this.#lastScrollY) this.#isFollowing = isNear;
    this.#lastScrollY = scrollY;
    if (isNear) this.button.hidden = true;
  }

  #onResize() {
    if (this.#isFollowing) this.toEnd();
  }
}

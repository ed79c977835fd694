// Follows the conversation while its end is in view; else offers a way there.

const NEAR = 90;

export class Scroll {
  #isFollowing = true;
  #last = 0;

  constructor(content, button) {
    this.button = button;
    this.content = content;
    addEventListener("scroll", () => this.#onScroll(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#onGrowth()).observe(content);
    addEventListener("resize", () => this.#onGrowth());
    this.toEnd();
  }

  toEnd() {
    this.#isFollowing = true;
    this.button.hidden = true;
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  }

  /** Something new came: says so when its place is out of view. */
  announce() {
    if (!this.#isFollowing) this.button.hidden = false;
  }

  /** Changes what is above without moving what is in view. */
  keepPlace(anchor, change) {
    const before = anchor.getBoundingClientRect().top;
    change();
    scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  }

  #onScroll() {
    const root = document.documentElement;
    const isNear = root.scrollHeight - innerHeight - scrollY < NEAR;
    // Only going up ends the following: the end may have moved on before this was told.
    if (isNear || scrollY < this.#last) this.#isFollowing = isNear;
    this.#last = scrollY;
    if (isNear) this.button.hidden = true;
  }

  #onGrowth() {
    if (this.#isFollowing) this.toEnd();
  }
}

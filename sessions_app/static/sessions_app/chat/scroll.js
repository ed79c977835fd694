// Scrolling: follow the end of the conversation while it is in view, otherwise show a button that leads there.

const NEAR_END_PIXELS = 90;
const MAX_ANCHORS = 100;
const FOCUS_RING_PIXELS = 8;

export class Scroll {
  /** True while the end is to stay in view. */
  isFollowing = true;
  #lastScrollY = 0;

  /**
   * @param foot - Element that covers the end of the window; what gets the focus is scrolled out from behind it.
   * @param isNew - True for a chat without messages, which is read from its beginning.
   * @param onPress - Callback when the button was pressed, and has disappeared.
   */
  constructor(content, { button, foot, isNew, onPress }) {
    this.button = button;
    addEventListener("scroll", () => this.#onScroll(), { passive: true });
    button.addEventListener("click", () => {
      this.toEnd();
      onPress();
    });
    const observer = new ResizeObserver(() => {
      document.documentElement.style.scrollPaddingBlockEnd = `${foot.offsetHeight + FOCUS_RING_PIXELS}px`;
      this.#onResize();
    });
    for (const part of [content, foot]) observer.observe(part);
    addEventListener("resize", () => this.#onResize());
    if (isNew && document.documentElement.scrollHeight > innerHeight) this.isFollowing = false;
    else this.toEnd();
  }

  toEnd() {
    this.isFollowing = true;
    this.#hideButton();
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  }

  /** Say on the button that there is new content, when it is out of view. */
  offerNewest() {
    if (this.isFollowing) return;
    this.button.dataset.unread = "";
    this.button.hidden = false;
  }

  /** Change content above the visible elements without moving them; the change may hide some of them. */
  keepPlace(elements, change) {
    const tops = new Map();
    for (const element of elements) {
      const { top, bottom, height } = element.getBoundingClientRect();
      if (height && bottom > 0) tops.set(element, top);
      if (tops.size === MAX_ANCHORS) break;
    }
    change();
    const anchor = [...tops.keys()].find((element) => element.getClientRects().length);
    if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - tops.get(anchor), behavior: "instant" });
  }

  #onScroll() {
    const root = document.documentElement;
    const distance = root.scrollHeight - innerHeight - scrollY;
    const isNear = distance < NEAR_END_PIXELS;
    const isUp = scrollY < this.#lastScrollY;
    // A page that becomes shorter moves up to its new end: the person has not scrolled.
    const hasShrunk = isUp && distance < 1;
    // Only scrolling up stops the following: the end may have moved before this event was delivered.
    if (!hasShrunk && (isNear || isUp)) this.isFollowing = isNear;
    this.#lastScrollY = scrollY;
    if (isNear) this.#hideButton();
    else this.button.hidden = this.isFollowing;
  }

  #hideButton() {
    this.button.hidden = true;
    delete this.button.dataset.unread;
  }

  #onResize() {
    if (!this.isFollowing) return;
    this.toEnd();
    // The scroll event of a page that has shrunk may come when it has grown again: it was not the person.
    this.#lastScrollY = scrollY;
  }
}

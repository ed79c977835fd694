// Chunks of the log. In a long chat, those far from the view are folded: their content is taken out of the document,
// and they keep their height. So the page stays small however far a person scrolls.

const MOST_EVENTS = 8;
const MOST_NODES = 1500;
const MARGIN_PIXELS = 800;
let muteTimer = 0;

export class Chunks {
  #folded = new Map();
  #observer = new IntersectionObserver((entries) => this.#onMove(entries), { rootMargin: `${MARGIN_PIXELS}px 0px` });

  constructor(log) {
    this.log = log;
    this.#observe(log);
  }

  /** Contents of all chunks, in order: elements, and fragments of folded chunks. */
  get roots() {
    return this.#all.map((chunk) => this.#folded.get(chunk) ?? chunk);
  }

  /** Append a row or a fragment of rows at the end. */
  append(rows) {
    let chunk = this.#all.at(-1);
    if (!chunk || this.#folded.has(chunk) || chunk.childElementCount >= MOST_EVENTS) {
      chunk = document.createElement("div");
      chunk.className = "chunk";
      this.log.append(chunk);
      this.#observer.observe(chunk);
    }
    chunk.append(rows);
    this.#foldSurplus();
  }

  /** Prepend a fragment of chunks. */
  prepend(fragment) {
    this.#observe(fragment);
    this.log.prepend(fragment);
    this.#foldSurplus();
  }

  /** Put the chunks that contain any of the elements back into the document; without elements, all chunks. */
  unfold(elements) {
    for (const [chunk, content] of [...this.#folded]) {
      if (!elements || elements.some((element) => content.contains(element))) this.#unfold(chunk);
    }
    if (elements) this.#foldSurplus();
  }

  get #all() {
    return [...this.log.querySelectorAll(".chunk")];
  }

  #observe(root) {
    for (const chunk of root.querySelectorAll(".chunk")) this.#observer.observe(chunk);
  }

  #onMove(entries) {
    const near = entries.filter(({ isIntersecting, boundingClientRect }) => isIntersecting && boundingClientRect.height);
    for (const { target } of near) this.#unfold(target);
    this.#foldSurplus();
  }

  // The farthest chunks first.
  #foldSurplus() {
    let surplus = this.log.getElementsByTagName("*").length - MOST_NODES;
    if (surplus <= 0) return;
    const far = this.#all.filter((chunk) => !this.#folded.has(chunk)).map(measure);
    far.sort((a, b) => b.distance - a.distance);
    for (const { chunk, distance, height } of far) {
      if (surplus <= 0 || distance < MARGIN_PIXELS) return;
      if (isInUse(chunk)) continue;
      surplus -= chunk.getElementsByTagName("*").length;
      this.#fold(chunk, height);
    }
  }

  #fold(chunk, height) {
    const content = document.createDocumentFragment();
    content.append(...chunk.childNodes);
    chunk.style.height = `${height}px`;
    this.#folded.set(chunk, content);
  }

  // The height may have changed since: the width of the window, or what is shown. What is in view stays in place.
  #unfold(chunk) {
    const content = this.#folded.get(chunk);
    if (!content) return;
    const { top, height } = chunk.getBoundingClientRect();
    this.#folded.delete(chunk);
    mute(this.log);
    chunk.style.height = "";
    chunk.append(content);
    if (top < 0) scrollBy({ top: chunk.getBoundingClientRect().height - height, behavior: "instant" });
  }
}

/** Keep screen readers from announcing rows that are no news, for a second. */
export function mute(log) {
  log.setAttribute("aria-live", "off");
  clearTimeout(muteTimer);
  muteTimer = setTimeout(() => log.removeAttribute("aria-live"), 1000);
}

// A chunk without visible rows is as far as can be: folding it is not seen.
function measure(chunk) {
  const { top, bottom, height } = chunk.getBoundingClientRect();
  const distance = height ? Math.max(-bottom, top - innerHeight) : Infinity;
  return { chunk, distance, height };
}

function isInUse(chunk) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(chunk);
  return isSelected || chunk.contains(document.activeElement) || chunk.querySelector("[data-editing]") !== null;
}

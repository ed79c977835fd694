// Folding of chunks far from the view: their content is taken out of the document, and they keep their height. So the
// page stays small however far a person scrolls. It is printed whole.

const MARGIN_PIXELS = 800;

export class Folding {
  #folded = new Map();
  #observer = new IntersectionObserver((entries) => this.#onMove(entries), { rootMargin: `${MARGIN_PIXELS}px 0px` });

  /** @param maxNodes - Elements of the log beyond which chunks are folded. */
  constructor(chunks, maxNodes) {
    this.chunks = chunks;
    this.maxNodes = maxNodes;
    this.observe(...this.#all);
    addEventListener("beforeprint", () => this.unfold());
    addEventListener("afterprint", () => this.foldSurplus());
  }

  /** Return the content of a folded chunk; undefined for another one. */
  contentOf(chunk) {
    return this.#folded.get(chunk);
  }

  /** Unfold these chunks when they come near the view. */
  observe(...chunks) {
    for (const chunk of chunks) this.#observer.observe(chunk);
  }

  /** Put the chunks that contain any of the elements back into the document; without elements, all chunks. */
  unfold(elements) {
    for (const [chunk, content] of [...this.#folded]) {
      if (!elements || elements.some((element) => content.contains(element))) this.#unfold(chunk);
    }
    if (elements) this.foldSurplus();
  }

  /** Fold as many chunks as necessary, the farthest first. */
  foldSurplus() {
    let surplus = this.chunks.log.getElementsByTagName("*").length - this.maxNodes;
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

  get #all() {
    return [...this.chunks.log.querySelectorAll(".chunk")];
  }

  #onMove(entries) {
    const near = entries.filter(
      ({ isIntersecting, boundingClientRect }) => isIntersecting && boundingClientRect.height,
    );
    for (const { target } of near) this.#unfold(target);
    this.foldSurplus();
  }

  #fold(chunk, height) {
    const content = document.createDocumentFragment();
    content.append(...chunk.childNodes);
    chunk.style.height = `${height}px`;
    this.#folded.set(chunk, content);
  }

  // The window's width or other content may have changed the height since. The rows in view stay in place.
  #unfold(chunk) {
    const content = this.#folded.get(chunk);
    if (!content) return;
    const { top, height } = chunk.getBoundingClientRect();
    this.#folded.delete(chunk);
    this.chunks.mute();
    chunk.style.height = "";
    chunk.append(content);
    if (top < 0) scrollBy({ top: chunk.getBoundingClientRect().height - height, behavior: "instant" });
  }
}

// A chunk without visible rows counts as the farthest: nobody sees its folding.
function measure(chunk) {
  const { top, bottom, height } = chunk.getBoundingClientRect();
  const distance = height ? Math.max(-bottom, top - innerHeight) : Infinity;
  return { chunk, distance, height };
}

function isInUse(chunk) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(chunk);
  return (
    isSelected || chunk.contains(document.activeElement) || chunk.querySelector("[data-editing], [data-hit]") !== null
  );
}

// Chunks of the log. In a long chat, `folding.js` takes those far from the view out of the document.

const MAX_EVENTS = 8;
const MAX_NODES = 1500;
const MUTE_MILLISECONDS = 1000;

export class Chunks {
  #folding = null;
  #muteTimer = 0;

  constructor(log) {
    this.log = log;
    this.#foldSurplus();
  }

  /** Contents of all chunks, in order: elements, and fragments of folded chunks. */
  get roots() {
    return [...this.log.querySelectorAll(".chunk")].map((chunk) => this.#folding?.contentOf(chunk) ?? chunk);
  }

  /** Append a row or a fragment of rows at the end. */
  append(rows) {
    let chunk = [...this.log.querySelectorAll(".chunk")].at(-1);
    if (!chunk || this.#folding?.contentOf(chunk) || chunk.childElementCount >= MAX_EVENTS) {
      chunk = document.createElement("div");
      chunk.className = "chunk";
      this.log.append(chunk);
      this.#folding?.observe(chunk);
    }
    chunk.append(rows);
    this.#foldSurplus();
  }

  /** Prepend a fragment of chunks. */
  prepend(fragment) {
    this.#folding?.observe(...fragment.querySelectorAll(".chunk"));
    this.log.prepend(fragment);
    this.#foldSurplus();
  }

  /** Put the chunks that contain any of the elements back into the document; without elements, all chunks. */
  unfold(elements) {
    this.#folding?.unfold(elements);
  }

  /** Keep screen readers from announcing rows that are no news, for a second. */
  mute() {
    this.log.setAttribute("aria-live", "off");
    clearTimeout(this.#muteTimer);
    this.#muteTimer = setTimeout(() => this.log.removeAttribute("aria-live"), MUTE_MILLISECONDS);
  }

  async #foldSurplus() {
    if (!this.#folding) {
      if (this.log.getElementsByTagName("*").length <= MAX_NODES) return;
      const { Folding } = await import("./folding.js");
      this.#folding ??= new Folding(this, MAX_NODES);
    }
    this.#folding.foldSurplus();
  }
}

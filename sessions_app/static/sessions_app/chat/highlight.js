// Colours of code, one block after the other. A block that takes too long keeps its plain text.

import { parse } from "./dom.js";
import { loadStyles } from "./styles.js";

const MAX_LENGTH = 50_000;
const MAX_MILLISECONDS = 2000;
const MAX_KEPT = 50;

class Highlighter {
  #coloured = new Map(); // promises of HTML: the complete answer shows again what was streamed
  #worker = null; // promise of the worker
  #previous = Promise.resolve();

  /** Colour the text of an element, which stays the same. */
  async colour(code, language) {
    const text = code.textContent;
    if (text.length > MAX_LENGTH) return;
    const key = `${language} ${text}`;
    if (!this.#coloured.has(key)) this.#enqueue(key, text, language);
    const parts = parse((await this.#coloured.get(key)) ?? "");
    if (parts.textContent === text) code.replaceChildren(parts);
  }

  #enqueue(key, text, language) {
    const forget = (error) => {
      console.warn("Code stays without colours:", error);
      this.#coloured.delete(key); // the next block with this text tries again
    };
    this.#previous = this.#previous.then(() => this.#ask(text, language)).catch(forget);
    this.#coloured.set(key, this.#previous);
    if (this.#coloured.size > MAX_KEPT) this.#coloured.delete(this.#coloured.keys().next().value);
  }

  // Return HTML; null for an unknown language, and for code that takes too long. Rejects without a worker.
  async #ask(text, language) {
    this.#worker ??= this.#start();
    const worker = await this.#worker;
    return new Promise((resolve) => {
      const end = (html) => {
        clearTimeout(timer);
        resolve(html);
      };
      const giveUp = () => {
        worker.terminate();
        this.#worker = null;
        end(null);
      };
      const timer = setTimeout(giveUp, MAX_MILLISECONDS);
      worker.onmessage = ({ data }) => end(data);
      worker.onerror = giveUp;
      worker.postMessage({ text, language });
    });
  }

  // The worker's first message tells that it is loaded, however long that takes.
  #start() {
    loadStyles("codeStyles");
    const loaded = new Promise((resolve, reject) => {
      const worker = new Worker(document.documentElement.dataset.highlighter, { type: "module" });
      worker.onmessage = () => resolve(worker);
      worker.onerror = () => reject(new Error("The worker could not be loaded."));
    });
    loaded.catch(() => {
      this.#worker = null;
    });
    return loaded;
  }
}

/** The highlighter of the page. */
export const highlighter = new Highlighter();

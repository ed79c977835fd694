// Files in the conversation: facts beside their names, and the pane with a file, the list, or long code.

import { load } from "./parts.js";
import { readPart } from "./requests.js";

const FACTS_DELAY = 300;
const UNKNOWN_FACTS = ".file-facts:not([data-known])";
let pane = null; // loaded when it is first opened

export class Files {
  #timer = 0;

  /**
   * @param main - Element with the conversation.
   * @param button - Button that opens the list of files.
   * @param url - Address of the list.
   */
  constructor(main, { button, url }) {
    this.main = main;
    this.url = url;
    button.addEventListener("click", () => showFiles(url));
    listenForPane();
    main.addEventListener("error", (event) => removePicture(event.target), true);
    for (const image of main.querySelectorAll(".picture img")) {
      if (image.complete && !image.naturalWidth) removePicture(image);
    }
    new MutationObserver(() => this.#showFactsSoon()).observe(main, { childList: true, subtree: true });
    this.#showFactsSoon();
  }

  #showFactsSoon() {
    if (this.#timer || !this.main.querySelector(UNKNOWN_FACTS)) return;
    this.#timer = setTimeout(async () => {
      this.#timer = 0;
      await this.#showFacts().catch(() => {}); // sizes are missing then
    }, FACTS_DELAY);
  }

  // The facts, such as sizes, are in the list of files.
  async #showFacts() {
    const rows = [...this.main.querySelectorAll(UNKNOWN_FACTS)];
    pane?.offerNewer(rows.map((row) => row.closest("li").dataset));
    const files = await readPart(this.url);
    for (const row of rows) {
      const { name, version } = row.closest("li").dataset;
      const facts = files.querySelector(`li[data-name="${CSS.escape(name)}"][data-version="${version}"] .file-facts`);
      if (facts) row.textContent = facts.textContent;
      row.dataset.known = "";
    }
  }
}

/** Open the pane for the files and the long code of the page that a person presses. */
export function listenForPane() {
  document.addEventListener("click", (event) => {
    const code = event.target.closest("[data-open-code]")?.closest(".code");
    if (code) showCode(code.querySelector("pre"));
    const control = event.target.closest("[data-preview]");
    if (!control || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    showFiles(control.dataset.preview);
  });
}

async function showFiles(url) {
  pane = await load(() => import("./pane.js"));
  pane.showFiles(url);
}

async function showCode(pre) {
  pane = await load(() => import("./pane.js"));
  pane.showCode(pre);
}

// A file with the name of a picture may hold something else.
function removePicture(image) {
  image.closest(".picture")?.remove();
}

// Panel over the page, or beside the conversation: a part of the page that the server renders, such as a file.

import { addCodeHeads } from "./code.js";
import { make, makeButton } from "./dom.js";
import { t } from "./language.js";
import { readPart } from "./requests.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

await loadStyles("overStyles");

const WIDE = matchMedia("(min-width: 70rem)"); // `over.css` has the same width

class Panel {
  #dialog = null;
  #url = ""; // of the part that the panel shows
  #isBeside = false;

  /** Element with the shown part; it stays the same. */
  get body() {
    this.#dialog ??= this.#make();
    return this.#dialog.querySelector(".panel-body");
  }

  get hasFocus() {
    return this.#dialog.contains(document.activeElement);
  }

  /** True while the panel is open with the part at `url`. */
  shows(url) {
    return this.#dialog?.open && url === this.#url;
  }

  /**
   * Show the part of the page at `url`. Resolves with true when it is shown, and no other was asked for meanwhile.
   *
   * @param label - Name of the panel, unless the part has an element with the id `panel-title`.
   * @param trouble - Sentence for the case that the part cannot be read.
   * @param isBeside - Leave the page in use where the window is wide enough for both.
   */
  async show(url, { label, trouble, isBeside = false }) {
    this.#replace(make("p", "muted", t("Loading…")), { url, label, isBeside });
    const shown = await read(url).catch((error) => makeError(error, trouble));
    if (!this.shows(url)) return false;
    this.body.replaceChildren(shown);
    return true;
  }

  /** Show a part that this page has made, beside the page where the window is wide enough. */
  showPart(part, label) {
    this.#replace(part, { url: "", label, isBeside: true });
  }

  /** Read the part at `url` again if the panel shows it; return it, or null if the shown part should stay. */
  async readAgain(url) {
    if (!this.shows(url)) return null;
    const fresh = await read(url).catch(() => null); // without a connection the old part stays
    return this.shows(url) ? fresh : null;
  }

  #replace(part, { url, label, isBeside }) {
    const { body } = this;
    this.#url = url;
    this.#isBeside = isBeside;
    this.#open();
    if (body.contains(document.activeElement)) body.focus(); // what had the focus disappears
    body.replaceChildren(part);
    this.#dialog.setAttribute("aria-label", label);
  }

  // Open the dialog; when it closes the focus returns to where it is now.
  #open() {
    const dialog = this.#dialog;
    const isModal = !(this.#isBeside && WIDE.matches);
    if (dialog.open && this.hasFocus && dialog.matches(":modal") === isModal) return;
    dialog.close();
    if (isModal) dialog.showModal();
    else dialog.show();
  }

  #make() {
    const dialog = make("dialog", "panel");
    const close = makeButton("icon panel-close", "×", () => dialog.close());
    close.setAttribute("aria-label", t("Close"));
    dialog.setAttribute("aria-labelledby", "panel-title");
    const body = make("div", "panel-body");
    body.tabIndex = -1; // a click on its text gives it the focus, and with it the keys
    dialog.append(close, body);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    // Of a modal dialog the browser does this.
    dialog.addEventListener("keydown", (event) => event.key === "Escape" && dialog.close());
    WIDE.addEventListener("change", () => dialog.open && this.#open());
    document.body.append(dialog);
    return dialog;
  }
}

/** The panel of the page. */
export const panel = new Panel();

async function read(url) {
  const part = await readPart(url);
  addCodeHeads(part, { isInPane: true });
  showLocalTimes(part);
  showElapsed(part);
  return part;
}

// `fetch` rejects with a TypeError when offline.
function makeError(error, trouble) {
  const isOffline = error instanceof TypeError;
  return make("p", "error", isOffline ? t("There is no connection. Try again.") : trouble);
}

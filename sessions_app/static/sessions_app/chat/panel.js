// Panel beside the conversation: a part of the page that the server renders, such as the preview of a file.

import { addCodeHeads } from "./code.js";
import { make, makeButton } from "./dom.js";
import { t } from "./language.js";
import { readPart } from "./requests.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

await loadStyles("overStyles");

class Panel {
  #dialog = null;
  #url = ""; // of the part that the panel shows

  /** Element with the shown part; it stays the same. */
  get body() {
    this.#dialog ??= makeDialog();
    return this.#dialog.querySelector(".panel-body");
  }

  /** True while the panel is open with the part at `url`. */
  shows(url) {
    return this.#dialog?.open && url === this.#url;
  }

  /** Show the part of the page at `url`; `trouble` is the sentence for the case that it cannot be read. */
  async show(url, { label, trouble }) {
    const { body } = this;
    this.#dialog.setAttribute("aria-label", label);
    this.#url = url;
    body.replaceChildren(make("p", "muted", t("Loading…")));
    if (!this.#dialog.open) this.#dialog.showModal();
    const shown = await read(url).catch((error) => makeError(error, trouble));
    if (url === this.#url) body.replaceChildren(shown);
  }

  /** Read the part at `url` again if the panel shows it, and call `update` with it. */
  async refresh(url, update) {
    if (!this.shows(url)) return;
    const fresh = await read(url).catch(() => null); // without a connection the old part stays
    if (fresh && this.shows(url)) update(fresh);
  }
}

/** The panel of the page. */
export const panel = new Panel();

async function read(url) {
  const part = await readPart(url);
  addCodeHeads(part);
  showLocalTimes(part);
  showElapsed(part);
  return part;
}

// `fetch` rejects with a TypeError when offline.
function makeError(error, trouble) {
  const isOffline = error instanceof TypeError;
  return make("p", "error", isOffline ? t("There is no connection. Try again.") : trouble);
}

function makeDialog() {
  const dialog = make("dialog", "panel");
  const close = makeButton("icon panel-close", "×", () => dialog.close());
  close.setAttribute("aria-label", t("Close"));
  dialog.append(close, make("div", "panel-body"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  return dialog;
}

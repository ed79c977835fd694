// Panel beside the conversation: a part of the page that the server renders, such as the preview of a file.

import { addCodeHeads } from "./code.js";
import { make, makeButton } from "./dom.js";
import { t } from "./language.js";
import { readPart } from "./requests.js";
import { showElapsed, showLocalTimes } from "./times.js";

class Panel {
  #dialog = null;
  #url = ""; // of the part that the panel shows

  /** Show the part of the page at `url`; `trouble` is the sentence for the case that it cannot be read. */
  async show(url, { label, trouble }) {
    this.#dialog ??= makeDialog();
    this.#dialog.setAttribute("aria-label", label);
    this.#url = url;
    const body = this.#dialog.querySelector(".panel-body");
    body.replaceChildren(make("p", "muted", t("Loading…")));
    if (!this.#dialog.open) this.#dialog.showModal();
    const shown = await read(url).catch((error) => makeError(error, trouble));
    if (url === this.#url) body.replaceChildren(shown);
  }

  /** Read the part at `url` again if the panel shows it; the focus stays on the same link. */
  async refresh(url) {
    if (!this.#dialog?.open || url !== this.#url) return;
    const fresh = await read(url).catch(() => null); // without a connection the old part stays
    if (!fresh || url !== this.#url) return;
    const focused = this.#dialog.querySelector("li:focus-within")?.id;
    this.#dialog.querySelector(".panel-body").replaceChildren(fresh);
    if (!focused) return;
    const link = document.getElementById(focused)?.querySelector("a");
    (link ?? this.#dialog.querySelector(".panel-close")).focus();
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

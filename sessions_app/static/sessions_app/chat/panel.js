// Panel beside the conversation: the preview of a file, or the list of files. The server renders both.

import { addCodeHeads } from "./code.js";
import { make, makeButton, parse } from "./dom.js";
import "./later_styles.js";

let panel = null;

/** Show the part of the page at `url` in the panel. */
export async function showPanel(url) {
  panel ??= makePanel();
  const body = panel.querySelector(".panel-body");
  body.replaceChildren(make("p", "muted", "Loading…"));
  if (!panel.open) panel.showModal();
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status}`);
    body.replaceChildren(parse(await response.text()));
    addCodeHeads(body);
  } catch {
    body.replaceChildren(make("p", "error", "This cannot be shown. The file may have been deleted."));
  }
}

function makePanel() {
  const dialog = make("dialog", "panel");
  dialog.setAttribute("aria-label", "Files");
  const close = makeButton("icon panel-close", "×", () => dialog.close());
  close.setAttribute("aria-label", "Close");
  dialog.append(close, make("div", "panel-body"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  return dialog;
}

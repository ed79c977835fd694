// Panel beside the conversation: a part of the page that the server renders, such as the preview of a file.

import { addCodeHeads } from "./code.js";
import { make, makeButton, parse } from "./dom.js";
import { t } from "./language.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

await loadStyles("onDemand");

const FILE = { label: t("Files"), trouble: t("This cannot be shown. The file may have been deleted.") };
export const ACTIVITY = { label: t("Activity"), trouble: t("The activity cannot be read now. Try again in a moment.") };
const OFFLINE = t("There is no connection. Try again.");
let panel = null;
let shownUrl = "";

/** Show the part of the page at `url` in the panel; `trouble` is the sentence for the case that it cannot be read. */
export async function showPanel(url, { label, trouble } = FILE) {
  panel ??= makePanel();
  panel.setAttribute("aria-label", label);
  shownUrl = url;
  const body = panel.querySelector(".panel-body");
  body.replaceChildren(make("p", "muted", t("Loading…")));
  if (!panel.open) panel.showModal();
  const shown = await read(url).catch((error) => make("p", "error", error instanceof TypeError ? OFFLINE : trouble));
  if (url === shownUrl) body.replaceChildren(shown);
}

/** Read the part at `url` again if the panel shows it; the focus stays on the same link. */
export async function refreshPanel(url) {
  if (!panel?.open || url !== shownUrl) return;
  const fresh = await read(url).catch(() => null); // without a connection the old part stays
  if (!fresh || url !== shownUrl) return;
  const focused = panel.querySelector("li:focus-within")?.id;
  panel.querySelector(".panel-body").replaceChildren(fresh);
  if (focused) (document.getElementById(focused)?.querySelector("a") ?? panel.querySelector(".panel-close")).focus();
}

async function read(url) {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${response.status}`);
  const part = parse(await response.text());
  addCodeHeads(part);
  showLocalTimes(part);
  showElapsed(part);
  return part;
}

function makePanel() {
  const dialog = make("dialog", "panel");
  const close = makeButton("icon panel-close", "×", () => dialog.close());
  close.setAttribute("aria-label", t("Close"));
  dialog.append(close, make("div", "panel-body"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  return dialog;
}

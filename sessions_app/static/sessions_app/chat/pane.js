// Pane beside the conversation: a file or the list of files, which the server renders, or long code of an answer.

import { addCodeHeads } from "./code.js";
import { make, moveFocus } from "./dom.js";
import { t } from "./language.js";
import { panel } from "./panel.js";

const TROUBLE = t("This cannot be shown. The file may have been deleted.");

/** Show the file or the list of files at `url`. */
export async function showFiles(url) {
  if (!(await panel.show(url, { label: t("Files"), trouble: TROUBLE, isBeside: true }))) return;
  const frame = panel.body.querySelector("iframe[data-src]");
  if (frame && navigator.pdfViewerEnabled) showDocument(frame);
  focusTitle();
}

/** Show a copy of a code block. */
export function showCode(pre) {
  const title = Object.assign(make("h2", "", t("Code")), { id: "panel-title" });
  const prose = make("div", "prose");
  const copy = pre.cloneNode(true);
  copy.removeAttribute("data-wrap"); // the copy has a button of its own for it
  prose.append(copy);
  addCodeHeads(prose, { isInPane: true });
  const part = document.createDocumentFragment();
  part.append(title, prose);
  panel.showPart(part, t("Code"));
  focusTitle();
}

/** Offer the newest version of the shown file when `files`, which the conversation has got, are a later one. */
export function offerNewer(files) {
  const shown = panel.body.querySelector(".preview-head");
  if (!shown) return;
  const isNewer = ({ name, version }) => name === shown.dataset.name && Number(version) > Number(shown.dataset.version);
  const offer = shown.querySelector(".newer");
  if (files.some(isNewer) && !offer.hasChildNodes()) offer.append(shown.querySelector("template").content);
}

function focusTitle() {
  const title = document.getElementById("panel-title"); // none when the part could not be read
  if (title && panel.hasFocus) moveFocus(title);
}

// Browsers without a viewer would download the file: they show the sentence behind the frame.
function showDocument(frame) {
  frame.nextElementSibling.remove();
  frame.src = frame.dataset.src;
  frame.hidden = false;
}

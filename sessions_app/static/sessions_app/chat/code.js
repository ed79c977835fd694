// Header of each code block: its language, and buttons that wrap, open and copy it. Its text is coloured.

import { make, makeButton } from "./dom.js";
import { t } from "./language.js";

const COPIED_MILLISECONDS = 2000;
const LONG_LINES = 20;

/**
 * Add a header to each code block in `root` that has none.
 *
 * @param isOpen - The code still grows: it has no colours yet.
 * @param isInPane - The code is in the pane, which shows long code of the conversation.
 */
export function addCodeHeads(root, { isOpen = false, isInPane = false } = {}) {
  for (const pre of root.querySelectorAll(".prose pre:not(.code > pre)")) {
    const block = make("div", "code");
    const head = make("div", "code-head");
    head.append(make("span", "", pre.dataset.language ?? "text"));
    // The clipboard API exists only in secure contexts: HTTPS or localhost.
    const buttons = make("span", "code-buttons");
    buttons.append(makeWrapButton(pre));
    const isLong = pre.textContent.split("\n").length > LONG_LINES;
    if (isLong && !isOpen && !isInPane) buttons.append(makeOpenButton());
    if (navigator.clipboard) buttons.append(makeCopyButton(pre));
    head.append(buttons);
    pre.replaceWith(block);
    block.append(head, pre);
    if (pre.dataset.language && !isOpen) colour(pre);
  }
}

async function colour(pre) {
  const { highlighter } = await import("./highlight.js");
  highlighter.colour(pre.querySelector("code"), pre.dataset.language.toLowerCase());
}

function makeWrapButton(pre) {
  const button = makeButton("plain", t("Wrap"), () => {
    button.ariaPressed = String(pre.toggleAttribute("data-wrap"));
  });
  button.ariaPressed = "false";
  return button;
}

// `files.js` opens the pane, which itself has headers of this module.
function makeOpenButton() {
  const button = make("button", "plain", t("Open"));
  button.type = "button";
  button.dataset.openCode = "";
  return button;
}

function makeCopyButton(pre) {
  const button = makeButton("plain", t("Copy"), async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = t("Copied");
    setTimeout(() => {
      button.textContent = t("Copy");
    }, COPIED_MILLISECONDS);
  });
  return button;
}

// Header of each code block: its language, and buttons that wrap its lines and copy it. Its text is coloured.

import { make, makeButton } from "./dom.js";
import { t } from "./language.js";

const COPIED_MILLISECONDS = 2000;

/** Add a header to each code block in `root` that has none. Code that is open, because it grows, has no colours yet. */
export function addCodeHeads(root, { isOpen = false } = {}) {
  for (const pre of root.querySelectorAll(".prose pre:not(.code > pre)")) {
    const block = make("div", "code");
    const head = make("div", "code-head");
    head.append(make("span", "", pre.dataset.language ?? "text"));
    // The clipboard API exists only in secure contexts: HTTPS or localhost.
    const buttons = make("span", "code-buttons");
    buttons.append(makeWrapButton(pre));
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

// Header of each code block: its language and a copy button.

import { make, makeButton } from "./dom.js";

export function addCopyButtons(root) {
  for (const pre of root.querySelectorAll(".prose pre")) {
    const block = make("div", "code");
    const head = make("div", "code-head");
    head.append(make("span", "", pre.dataset.language ?? "text"));
    // The clipboard API exists only in secure contexts: HTTPS or localhost.
    if (navigator.clipboard) head.append(makeCopyButton(pre));
    pre.replaceWith(block);
    block.append(head, pre);
  }
}

function makeCopyButton(pre) {
  const button = makeButton("plain", "Copy", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

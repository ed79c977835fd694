// A head for each code block: its language, and a button that copies it.

import { make, makeButton } from "./dom.js";

export function addCopyButtons(root) {
  for (const pre of root.querySelectorAll(".prose pre")) {
    const block = make("div", "code");
    const head = make("div", "code-head");
    head.append(make("span", "", pre.dataset.language ?? "text"));
    // Browsers offer the clipboard to pages that came over HTTPS or from this machine.
    if (navigator.clipboard) head.append(copyButton(pre));
    pre.replaceWith(block);
    block.append(head, pre);
  }
}

function copyButton(pre) {
  const button = makeButton("plain", "Copy", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

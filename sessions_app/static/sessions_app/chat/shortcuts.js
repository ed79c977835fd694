// Keyboard shortcuts of every page: Ctrl+K opens the palette, ? lists the shortcuts.

import { make } from "./dom.js";
import { load } from "./parts.js";

const WRITING = "input, textarea, select, [contenteditable]";

/** Listen for the shortcuts. The palette is loaded when a person first wants it; what is typed until then is kept. */
export function setUpShortcuts() {
  const dialog = make("dialog", "visually-hidden");
  const field = make("input", "");
  dialog.append(field);
  document.body.append(dialog);
  addEventListener("keydown", async (event) => {
    const isPalette = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
    const isHelp = event.key === "?" && !event.target.closest(WRITING);
    if (!isPalette && !isHelp) return;
    event.preventDefault();
    if (dialog.open) return;
    field.value = "";
    dialog.showModal();
    const { palette } = await load(() => import("./palette.js")).finally(() => dialog.close());
    if (isPalette) palette.open(field.value);
    else palette.showShortcuts();
  });
}

// Keyboard shortcuts of every page: Ctrl+K opens the palette, ? lists the shortcuts. The palette is loaded when needed.

const WRITING = "input, textarea, select, [contenteditable]";

addEventListener("keydown", async (event) => {
  const isPalette = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
  const isHelp = event.key === "?" && !event.target.closest(WRITING);
  if (!isPalette && !isHelp) return;
  event.preventDefault();
  const palette = await import("./palette.js");
  if (isPalette) palette.open();
  else palette.showShortcuts();
});

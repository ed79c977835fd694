// Files that are dropped anywhere on the page.

import { loadStyles } from "./styles.js";

loadStyles("onDemand");

/** Upload the files that are dropped, and show while they are dragged that the page takes them. */
export function takeDroppedFiles(uploads, field) {
  const hasFiles = (event) => !field.disabled && event.dataTransfer?.types.includes("Files");
  const setDropping = (isDropping) => document.body.toggleAttribute("data-dropping", isDropping);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    setDropping(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && setDropping(false));
  addEventListener("drop", (event) => {
    setDropping(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    uploads.add([...event.dataTransfer.files]);
    field.focus();
  });
}

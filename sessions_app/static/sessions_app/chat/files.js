// Files in the conversation: facts beside their names, and the panel with a preview or the list, loaded when asked for.

import { parse } from "./dom.js";

const PAUSE = 300;
let timer = 0;

/** Set up the files within `main`; `button` opens the list at `url`. */
export function setUpFiles(main, button, url) {
  button.addEventListener("click", () => openPanel(url));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-preview]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPanel(link.dataset.preview);
  });
  main.addEventListener("error", (event) => removePicture(event.target), true);
  for (const image of main.querySelectorAll(".picture img")) if (image.complete && !image.naturalWidth) removePicture(image);
  new MutationObserver(() => askForFacts(main, url)).observe(main, { childList: true, subtree: true });
  askForFacts(main, url);
}

/** Return the files of a message, as the composer lists them. */
export function filesOf(article) {
  return [...article.querySelectorAll(".files > li")].map((row) => ({
    name: row.dataset.name,
    version: Number(row.dataset.version),
    facts: row.querySelector(".file-facts").textContent,
    url: row.querySelector(".file").href,
    isImage: row.querySelector(".picture") !== null,
    isSent: true,
  }));
}

async function openPanel(url) {
  const { showPanel } = await import("./panel.js");
  showPanel(url);
}

// A file with the name of a picture may hold something else.
function removePicture(image) {
  image.closest(".picture")?.remove();
}

function askForFacts(main, url) {
  if (timer || !main.querySelector(".file-facts:not([data-known])")) return;
  timer = setTimeout(async () => {
    timer = 0;
    await showFacts(main, url).catch(() => {}); // sizes are missing then
  }, PAUSE);
}

async function showFacts(main, url) {
  const rows = [...main.querySelectorAll(".file-facts:not([data-known])")];
  rows.forEach((row) => (row.dataset.known = ""));
  const response = await fetch(url);
  if (!response.ok) return;
  const listed = parse(await response.text());
  for (const row of rows) {
    const { name, version } = row.closest("li").dataset;
    const found = listed.querySelector(`li[data-name="${CSS.escape(name)}"][data-version="${version}"] .file-facts`);
    if (found) row.textContent = found.textContent;
  }
}

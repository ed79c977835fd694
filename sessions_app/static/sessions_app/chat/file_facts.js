// Facts about files beside their names, such as their sizes. The server has them in the list of files.

import { parse } from "./dom.js";

/** Load the facts that `main` does not show yet. Rejects without a connection. */
export async function showFacts(main, url) {
  const rows = [...main.querySelectorAll(".file-facts:not([data-known])")];
  const response = await fetch(url);
  if (!response.ok) return;
  const listed = parse(await response.text());
  for (const row of rows) {
    const { name, version } = row.closest("li").dataset;
    const found = listed.querySelector(`li[data-name="${CSS.escape(name)}"][data-version="${version}"] .file-facts`);
    if (found) row.textContent = found.textContent;
    row.dataset.known = "";
  }
}

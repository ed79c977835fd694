// "What this chat knows": kept up from the changes that the events show.

import { make } from "./dom.js";

const OF_EVERYBODY = "app:";

/** Takes over the state changes of the newest article. */
export function showChanges(panel, article) {
  for (const chip of article?.querySelectorAll(".chips > li") ?? []) {
    const { key } = chip.dataset;
    if (key.startsWith(OF_EVERYBODY)) continue;
    panel.hidden = false;
    rowOf(panel, key).querySelector("dd").textContent = chip.querySelector("span").textContent;
  }
}

function rowOf(panel, key) {
  const known = panel.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (known) return known;
  const row = make("div", "");
  row.dataset.key = key;
  row.append(make("dt", "", key), make("dd", ""));
  const rows = panel.querySelector("dl");
  const next = [...rows.children].find((other) => other.dataset.key > key);
  rows.insertBefore(row, next ?? null);
  return row;
}

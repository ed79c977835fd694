// "What this chat knows": kept up from the changes that the events show.

import { make } from "./dom.js";

const OF_EVERYBODY = "app:";

/** Takes over the state changes that the HTML of an event shows; `delta` has their values. */
export function showChanges(panel, shown, delta) {
  for (const chip of shown.querySelectorAll(".chips > li")) {
    const { key } = chip.dataset;
    if (key.startsWith(OF_EVERYBODY)) continue;
    const row = rowOf(panel, key);
    row.querySelector("dd").textContent = chip.querySelector("span").textContent;
    if (delta[key] === null) row.remove();
  }
  panel.hidden = panel.querySelector("dl > div") === null;
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

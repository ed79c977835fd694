// State panel: updated from the state deltas of events.

import { make, makeAuto, parse } from "./dom.js";

/** Apply the state delta of an event to the panel. The values to display are in the HTML of the event. */
export function showStateDelta(panel, { html, event }) {
  const delta = event.actions.stateDelta;
  for (const chip of parse(html).querySelectorAll(".chips > li")) {
    const { key } = chip.dataset;
    const row = findOrAddRow(panel, key);
    row.querySelector("dd").textContent = chip.querySelector("span").textContent;
    if (delta[key] === null) row.remove();
  }
  panel.hidden = panel.querySelector("dl > div") === null;
}

function findOrAddRow(panel, key) {
  const existing = panel.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (existing) return existing;
  const row = make("div", "");
  row.dataset.key = key;
  row.append(makeAuto("dt", "", key), makeAuto("dd", ""));
  const rows = panel.querySelector("dl");
  const next = [...rows.children].find((candidate) => candidate.dataset.key > key);
  rows.insertBefore(row, next ?? null);
  return row;
}

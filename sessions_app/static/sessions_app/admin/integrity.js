// Badge of a session's log: the server checks the hash chain, and the event at which it breaks is marked.

export async function checkLog() {
  const link = document.querySelector("#integrity [data-check]");
  const response = link && (await fetch(link.href));
  if (!response?.ok) return; // the link stays
  const place = document.getElementById("integrity");
  place.innerHTML = await response.text();
  markFlaw(place.querySelector("[data-flaw]"));
}

function markFlaw(badge) {
  // In a log that was cut off, mark the last event that is left.
  const rows = [...document.querySelectorAll("[id^='event-']")];
  const number = (row) => Number(row.id.slice("event-".length));
  const row = badge && rows.filter((shown) => number(shown) <= Number(badge.dataset.flaw)).pop();
  const isNear = row && (number(row) === Number(badge.dataset.flaw) || row === rows.at(-1));
  if (!isNear) return;
  const mark = document.createElement("span");
  mark.className = "audit-bad";
  mark.textContent = badge.textContent;
  for (const shown of [row, row.closest(".audit-entry")]) {
    if (!shown) continue;
    shown.dataset.flaw = "";
    (shown.querySelector(".audit-what") ?? shown).prepend(mark.cloneNode(true), " ");
  }
}

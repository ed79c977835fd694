// Audit page of a session: a URL with #event-12 opens that event; the arrow keys step through the state snapshots.
"use strict";

function openLinkedEvent() {
  const match = /^#event-(\d+)$/.exec(location.hash);
  if (!match) return;
  const details = document.getElementById(location.hash.slice(1));
  const address = new URL(location.href);
  if (details) {
    details.open = true;
    details.scrollIntoView();
  } else if (address.searchParams.get("event") !== match[1]) {
    // The event is on another page of the timeline, or filtered out.
    address.search = `?event=${match[1]}`;
    location.replace(address);
  }
}

function stepThroughSnapshots(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, select, textarea, pre, [contenteditable]")) return;
  const direction = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const link = direction && document.querySelector(`.audit-steps a[rel="${direction}"]`);
  if (link) link.click();
}

window.addEventListener("hashchange", openLinkedEvent);
document.addEventListener("keydown", stepThroughSnapshots);
openLinkedEvent();

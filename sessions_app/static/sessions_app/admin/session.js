// Audit page of a session: opens the linked event, steps through the states by keys, copies ids, folds, follows.

import { toggle } from "./following.js";
import { checkLog } from "./integrity.js";
import { follow } from "./tail.js";

function openLinkedEvent() {
  const match = /^#event-(\d+)$/.exec(location.hash);
  if (!match) return;
  const row = document.getElementById(location.hash.slice(1));
  const address = new URL(location.href);
  if (row) {
    for (let place = row; place; place = place.parentElement.closest("details")) place.open = true;
    row.scrollIntoView();
  } else if (address.searchParams.get("event") !== match[1]) {
    // The event is on another page of the timeline, or filtered out.
    address.search = `?event=${match[1]}`;
    location.replace(address);
  }
}

// Arrows step from event to event, with Shift from change to change.
function stepThroughStates(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, pre, [contenteditable]")) return;
  const direction = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const step = event.shiftKey ? `a[data-change="${direction}"]` : `a[rel="${direction}"]`;
  const link = direction && document.querySelector(`.audit-steps ${step}`);
  if (link) link.click();
}

async function copyId(button) {
  const words = button.textContent;
  await navigator.clipboard.writeText(button.dataset.copy || button.previousElementSibling.textContent);
  button.textContent = "✓";
  setTimeout(() => {
    button.textContent = words;
  }, 1500);
}

function foldInvocations(button) {
  const isFolded = button.getAttribute("aria-pressed") === "false";
  button.setAttribute("aria-pressed", String(isFolded));
  for (const group of document.querySelectorAll(".audit-group")) group.open = !isFolded;
}

function closeMenus(event) {
  for (const menu of document.querySelectorAll(".audit-menu[open]")) {
    if (event.key === "Escape" || (event.type === "click" && !menu.contains(event.target))) menu.open = false;
  }
}

function press(event) {
  const button = event.target.closest("[data-copy], [data-fold], [data-follow]");
  if (!button) return;
  if (button.matches("[data-copy]")) copyId(button);
  else if (button.matches("[data-fold]")) foldInvocations(button);
  else toggle();
}

function showButtons() {
  const copies = navigator.clipboard ? document.querySelectorAll("[data-copy]") : [];
  for (const hidden of [...copies, ...document.querySelectorAll(".audit-tools")]) hidden.hidden = false;
}

window.addEventListener("hashchange", openLinkedEvent);
document.addEventListener("keydown", stepThroughStates);
document.addEventListener("click", press);
document.addEventListener("click", closeMenus);
document.addEventListener("keydown", closeMenus);
showButtons();
openLinkedEvent();
checkLog();
follow(showButtons);

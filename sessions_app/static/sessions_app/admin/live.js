// Live refresh of a list, or of a row's page, while "Follow changes" is pressed and the page is visible.

import { ask, isFollowing, isPressed, toggle } from "./following.js";

const SECONDS = 2;
const LIST_PARTS = ["#live-groups", "#live-rows", ".audit-pages"];
const ROW_PARTS = [".breadcrumbs", "#content > h2", "#content-main"];
const button = document.querySelector("[data-live]");

async function load(address) {
  const response = await ask(address);
  return response && new DOMParser().parseFromString(await response.text(), "text/html");
}

const isInUse = (part) => isPressed(part) || (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));

/** Replace a part of the page, unless it is pressed or selected. Focus, checked boxes and scroll position stay. */
function replace(part, fresh) {
  if (!part || !fresh || part.innerHTML === fresh.innerHTML || isInUse(part)) return;
  const focused = part.contains(document.activeElement) ? document.activeElement.outerHTML : null;
  const scrolled = part.querySelector(".results")?.scrollLeft;
  const checked = [...part.querySelectorAll("input:checked")].map((box) => box.value);
  part.replaceWith(document.adoptNode(fresh));
  for (const box of fresh.querySelectorAll("[type=checkbox]")) box.checked = checked.includes(box.value);
  if (scrolled) fresh.querySelector(".results").scrollLeft = scrolled;
  if (focused) [...fresh.querySelectorAll("a, button, input")].find((link) => link.outerHTML === focused)?.focus();
}

async function refreshList() {
  const page = await load(location.href);
  if (!page) return;
  for (const selector of LIST_PARTS) replace(document.querySelector(selector), page.querySelector(selector));
}

/** Refresh the live fields, or the whole row when anything else has changed. */
async function refreshRow() {
  const fields = await load(button.dataset.live);
  if (!fields) return;
  const { version } = fields.querySelector("[data-version]").dataset;
  if (version !== button.dataset.version) return refreshWholeRow(version);
  for (const line of fields.querySelectorAll(".form-row")) {
    const name = [...line.classList].find((token) => token.startsWith("field-"));
    replace(document.querySelector(`.form-row.${name}`), line);
  }
}

async function refreshWholeRow(version) {
  const page = await load(location.href);
  const parts = ROW_PARTS.map((selector) => document.querySelector(selector));
  if (!page || parts.some((part) => part && isInUse(part))) return; // the next tick tries again
  for (const [index, part] of parts.entries()) replace(part, page.querySelector(ROW_PARTS[index]));
  document.title = page.title;
  button.dataset.version = version;
  button.hidden = !page.querySelector("[data-live]"); // a row that has ended does not change
  document.querySelector("[data-followed]").textContent = document.querySelector(".field-badge .readonly").textContent;
}

async function tick() {
  try {
    if (isFollowing()) await (button.dataset.live ? refreshRow() : refreshList());
  } finally {
    setTimeout(tick, SECONDS * 1000);
  }
}

if (button) {
  button.closest(".audit-tools").hidden = false;
  button.addEventListener("click", toggle);
  setTimeout(tick, SECONDS * 1000);
}

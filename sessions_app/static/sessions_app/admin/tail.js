// Live tail of a session's page: asks how far the log reaches, and replaces the parts of the page after a change.

import { ask, isFollowing, isPressed } from "./following.js";

const SECONDS = 2;
const PARTS = ["head", "timeline", "state", "files", "invocations", "jobs", "scheduled-tasks", "feedback"];
const timeline = () => document.getElementById("timeline");
const button = () => document.querySelector("[data-follow]");

/** Follow the session while the button is pressed and the page is visible. Call `onNews` after each change. */
export function follow(onNews) {
  if (!button()) return;
  setInterval(async () => {
    if (!isFollowing()) return;
    const response = await ask(timeline().dataset.news);
    if (!response) return;
    const { seq, status } = await response.json();
    const before = timeline().dataset;
    if (seq !== Number(before.seq) || (status ?? "") !== before.status)
      await takeNews(seq - Number(before.seq), onNews);
  }, SECONDS * 1000);
}

async function takeNews(count, onNews) {
  const address = new URL(location.href);
  address.searchParams.set("page", "last");
  const response = await ask(address);
  if (!response) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (PARTS.some((id) => isPressed(document.getElementById(id)))) return; // the next tick tries again
  copyOpenState(page);
  const follows = button().getAttribute("aria-pressed");
  const badge = document.getElementById("integrity");
  for (const id of PARTS) {
    const fresh = page.getElementById(id);
    if (fresh) document.getElementById(id)?.replaceWith(document.adoptNode(fresh));
  }
  document.getElementById("integrity").replaceWith(badge);
  button().setAttribute("aria-pressed", follows);
  const status = document.querySelector("[data-followed]");
  if (count > 0) status.textContent = status.dataset.words.replace("{count}", count); // else only the status is news
  onNews();
}

/** Open and fold the details of a fresh page as the reader has left them on this one. */
function copyOpenState(page) {
  for (const details of document.querySelectorAll("details[id]")) {
    const fresh = page.getElementById(details.id);
    if (fresh) fresh.open = details.open;
  }
}

// Further pages of the list of chats.

import { timeOf } from "./times.js";

/** Append a page to the list, in place of the link to it. Return its first chat. */
export function append(body, fresh, link) {
  link.remove();
  const first = fresh.querySelector(".chat");
  body.querySelector(".chats").append(...fresh.querySelectorAll(".chat"));
  body.append(fresh);
  body.querySelector(".chats ~ .chats")?.remove();
  return first;
}

/** Keep what further pages have brought, behind the fresh first page. */
export function keep(body, fresh) {
  const more = fresh.querySelector(".more-chats");
  if (!more) return;
  const known = new Set([...fresh.querySelectorAll(".chat")].map((item) => item.dataset.id));
  const end = timeOf([...fresh.querySelectorAll(".chat")].at(-1));
  const older = [...body.querySelectorAll(".chat")].filter(
    (item) => !known.has(item.dataset.id) && !("pinned" in item.dataset) && timeOf(item) < end,
  );
  if (!older.length) return;
  fresh.querySelector(".chats").append(...older);
  const next = body.querySelector(".more-chats");
  if (next) more.replaceWith(next);
  else more.remove();
}

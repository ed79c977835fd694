// Further pages of the list of chats.

/** Append a page to the list, in place of the link to it. Return its first chat. */
export function append(list, page, link) {
  link.remove();
  page.querySelector(".no-chats")?.remove();
  const first = page.querySelector(".chat");
  const [shown, added] = [[...list.querySelectorAll(".group")].at(-1), page.querySelector(".group")];
  if (shown && shown.textContent === added?.textContent) added.remove(); // the page begins within a group
  list.querySelector(".chats").append(...page.querySelectorAll(".chats > li"));
  list.append(page);
  list.querySelector(".chats ~ .chats")?.remove();
  return first;
}

/** Return the cursor of the page to which a link leads. */
export function cursorOf(link) {
  return new URL(link.getAttribute("href"), location).searchParams.get("before");
}

// Further pages of the list of chats.

const UNPINNED = ".chat:not([data-pinned])";

/** Append a page to the list, in place of the link to it. Return its first chat. */
export function append(list, page, link) {
  link.remove();
  page.querySelector(".no-chats")?.remove();
  const first = page.querySelector(".chat");
  list.querySelector(".chats").append(...page.querySelectorAll(".chat"));
  list.append(page);
  list.querySelector(".chats ~ .chats")?.remove();
  return first;
}

/** Return the cursor of the page to which a link leads. */
export function cursorOf(link) {
  return new URL(link.getAttribute("href"), location).searchParams.get("before");
}

/**
 * Append further pages to a fresh first page, until it is as long as the list that is shown. They are read anew, too:
 * nothing else tells which of their chats were archived, unpinned or deleted. Return false if a page cannot be read.
 */
export async function extend(fresh, shown, fetchPage) {
  const wanted = shown.querySelectorAll(UNPINNED).length;
  while (fresh.querySelectorAll(UNPINNED).length < wanted) {
    const link = fresh.querySelector(".more-chats");
    if (!link) break;
    const page = await fetchPage(cursorOf(link));
    if (!page) return false;
    append(fresh, page, link);
  }
  return true;
}

// Event that a search has found: its page of the log is loaded, and the event is marked and gets the focus. The word is
// in view, too: an answer may be longer than the window.

import { moveFocus } from "./dom.js";
import { page } from "./main.js";

const WORD = /^[\p{L}\p{N}]+$/u;
const LOWEST_WORD = 0.6; // part of the window's height; the composer covers the end
const { conversation, earlier, scroll } = page;
const address = new URL(location.href);
const seq = Number(address.searchParams.get("hit"));
const word = address.searchParams.get("word") ?? "";
for (const name of ["hit", "word"]) address.searchParams.delete(name);
history.replaceState(history.state, "", address); // a reload shows the end of the chat
const article = await find();
if (article) show(article);

async function find() {
  while (seq < conversation.firstSeq && (await earlier.load()));
  return conversation.find(`article[data-seq="${seq}"]:not([hidden])`);
}

function show(row) {
  row.dataset.hit = ""; // is not folded from now on
  scroll.isFollowing = false;
  conversation.chunks.unfold([row]);
  row.querySelector('.unfold[aria-expanded="false"]')?.click();
  row.scrollIntoView({ behavior: "instant" });
  moveFocus(row);
  const place = WORD.test(word) && findWord(row);
  if (place) showWord(place);
}

// The text may have the word in other places of its Markdown, such as the address of a link.
function findWord(row) {
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])${word}`, "iu");
  for (const text of row.querySelectorAll(":scope > :is(.said, .due, .prose)")) {
    const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const found = pattern.exec(nodes.currentNode.textContent);
      if (found) return makeRange(nodes.currentNode, found.index, found.index + found[0].length);
    }
  }
  return null;
}

function makeRange(node, start, end) {
  const range = new Range();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}

function showWord(place) {
  CSS.highlights?.set("hit", new Highlight(place));
  const beyond = place.getBoundingClientRect().bottom - innerHeight * LOWEST_WORD;
  if (beyond > 0) scrollBy({ top: beyond, behavior: "instant" });
}

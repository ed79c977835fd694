// Event that a search has found: its page of the log is loaded, and the event is marked and gets the focus. The word is
// in view, too: an answer may be longer than the window.

import { moveFocus } from "./dom.js";
import { conversation, loadEarlier, scroll } from "./main.js";
import { loadStyles } from "./styles.js";

await loadStyles("onDemand");

const WORD = /^[\p{L}\p{N}]+$/u;
const LOWEST = 0.6; // part of the window's height down to which the word may be; the composer covers the end
const address = new URL(location);
const seq = Number(address.searchParams.get("hit"));
const word = address.searchParams.get("word") ?? "";
for (const name of ["hit", "word"]) address.searchParams.delete(name);
history.replaceState(history.state, "", address); // a reload shows the end of the chat
const article = await find();
if (article) show(article);

async function find() {
  const isEarlier = () => seq < conversation.log.querySelector(".log-page").dataset.firstSeq;
  while (isEarlier() && (await (await loadEarlier())()));
  return conversation.find(`article[data-seq="${seq}"]:not([hidden])`);
}

function show(row) {
  row.dataset.hit = ""; // is not folded from now on
  scroll.isFollowing = false;
  conversation.chunks.unfold([row]);
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
      const found = pattern.exec(nodes.currentNode.data);
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
  const beyond = place.getBoundingClientRect().bottom - innerHeight * LOWEST;
  if (beyond > 0) scrollBy({ top: beyond, behavior: "instant" });
}

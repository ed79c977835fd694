// Streamed text of partial events. It is outside the log: screen readers announce only the complete event.
// The server renders the Markdown: each block that has ended once, and the last block again as it grows. Text that comes
// in between is appended to the last block, up to what may be a mark: the next drawing shows what that means.

import { addCodeHeads } from "./code.js";
import { make, makeAuto, parse } from "./dom.js";
import { t } from "./language.js";

const MARK = /[*_~`|$[\\\n]/;
const MAX_WITHHELD = 80; // characters, when drawings are slow

export class LiveText {
  #messages = new Map();
  #finished = new Set();
  #lease = 0;

  /** @param onGap - Callback when text before a received chunk is missing. */
  constructor(region, { onGap }) {
    this.region = region;
    this.faces = document.getElementById("faces")?.content;
    this.onGap = onGap;
  }

  get isEmpty() {
    return this.#messages.size === 0;
  }

  /** Ids of the invocations with streamed text. */
  get invocationIds() {
    return [...new Set([...this.#messages.values()].map(({ invocationId }) => invocationId))];
  }

  /**
   * Write text at its offset and replace everything after it.
   * Offsets count UTF-16 code units, separately for text and thoughts.
   */
  write({ lease, event_id: eventId, invocation_id: invocationId, author, offset, text, thought, drawn }) {
    this.adoptLease(lease);
    if (lease < this.#lease || this.#finished.has(eventId)) return;
    const message = this.#messages.get(eventId) ?? this.#begin(eventId, invocationId, author);
    const growing = thought ? message.thought : message.text;
    if (!growing.write(offset, text) || (drawn && !growing.draw(drawn))) this.onGap();
    message.thoughts.hidden = message.thought.isEmpty;
  }

  /** Remove the streamed text of an event that has been committed. */
  finish(eventId) {
    this.#finished.add(eventId);
    this.#remove(eventId);
  }

  /** Discard the text of older leases: the new lease holder streams from the start. */
  adoptLease(lease) {
    if (lease <= this.#lease) return;
    this.#lease = lease;
    this.clear();
  }

  /** Remove the streamed text of an invocation that has ended. */
  drop(invocationId) {
    for (const [eventId, message] of this.#messages) {
      if (message.invocationId === invocationId) this.#remove(eventId);
    }
  }

  /** Remove all streamed text. */
  clear() {
    for (const eventId of [...this.#messages.keys()]) this.#remove(eventId);
  }

  #begin(eventId, invocationId, author) {
    const article = make("article", "event agent live");
    const header = make("header", "");
    const face = this.faces?.querySelector(`[data-agent="${CSS.escape(author)}"]`);
    header.append(...(face?.cloneNode(true).childNodes ?? [makeAuto("span", "author", asWords(author))]));
    const thoughts = make("details", "thought");
    thoughts.append(make("summary", "", t("Thinking")));
    article.append(header, thoughts);
    const message = {
      invocationId,
      article,
      thoughts,
      thought: new GrowingText(thoughts),
      text: new GrowingText(article),
    };
    article.dataset.eventId = eventId;
    this.region.append(article);
    this.#messages.set(eventId, message);
    return message;
  }

  #remove(eventId) {
    this.#messages.get(eventId)?.article.remove();
    this.#messages.delete(eventId);
  }
}

// HTML of a text, and the plain text behind what it shows. Positions count from the start of the whole text.
class GrowingText {
  #prose = makeAuto("div", "prose");
  #plain = makeAuto("div", "plain-text");
  #tail = document.createTextNode("");
  #text = ""; // what the tail is to show
  #start = 0; // position of the tail
  #end = 0; // end of the finished blocks
  #finished = 0; // number of their nodes

  constructor(parent) {
    const body = make("div", "growing");
    this.#plain.append(this.#tail);
    body.append(this.#prose, this.#plain);
    parent.append(body);
  }

  get isEmpty() {
    return this.#start + this.#text.length === 0;
  }

  /** Write text at its offset and replace everything after it. Return false when text before it is missing. */
  write(offset, text) {
    if (offset < this.#start) this.#restart();
    const place = offset - this.#start;
    if (place > this.#text.length) return false;
    this.#text = this.#text.slice(0, place) + text;
    this.#showTail();
    return true;
  }

  /**
   * Show the HTML of the text. Return false when blocks before it are missing. Blocks from the start of the text are all
   * blocks so far: they replace those that are here.
   */
  draw({ start, end, html, open_end: openEnd, open_html: openHtml }) {
    if (start === 0) this.#finished = 0;
    else if (start !== this.#end) return false;
    while (this.#prose.childNodes.length > this.#finished) this.#prose.lastChild.remove();
    this.#prose.append(parse(html));
    addCodeHeads(this.#prose);
    this.#finished = this.#prose.childNodes.length;
    this.#appendOpen(parse(openHtml));
    this.#text = this.#text.slice(openEnd - this.#start);
    this.#tail.data = "";
    this.#showTail();
    this.#start = openEnd;
    this.#end = end;
    return true;
  }

  // Without a place for it, the following text is not shown: it may be half a mark.
  #appendOpen(block) {
    this.#tail.remove();
    block.querySelector("wbr")?.replaceWith(this.#tail);
    this.#prose.append(block);
    addCodeHeads(this.#prose, { isOpen: true });
  }

  #showTail() {
    const mark = this.#text.search(MARK);
    const isWithheld =
      mark >= 0 && this.#text.length - mark <= MAX_WITHHELD && !this.#tail.parentElement?.closest("pre, code");
    const shown = isWithheld ? this.#text.slice(0, mark) : this.#text;
    // What stays is not written again: a selection in it stays, too.
    if (shown.startsWith(this.#tail.data)) this.#tail.appendData(shown.slice(this.#tail.length));
    else this.#tail.data = shown;
  }

  #restart() {
    this.#prose.replaceChildren();
    this.#plain.append(this.#tail);
    this.#tail.data = "";
    this.#text = "";
    this.#start = 0;
    this.#end = 0;
    this.#finished = 0;
  }
}

function asWords(name) {
  const words = name.replace(/[_-]/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

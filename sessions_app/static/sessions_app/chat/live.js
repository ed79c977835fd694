// Streamed text of partial events. It is outside the log: screen readers announce only the complete event.
// Markdown blocks that have ended are rendered by the server; the last block is plain text until it ends, too.

import { addCodeHeads } from "./code.js";
import { make, makeAuto, parse } from "./dom.js";
import { t } from "./language.js";

export class LiveText {
  #messages = new Map();
  #finished = new Set();
  #lease = 0;

  /** @param onGap - Callback when text before a received chunk is missing. */
  constructor(region, { onGap }) {
    this.region = region;
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
  write({ lease, event_id: eventId, invocation_id: invocationId, author, offset, text, thought, blocks }) {
    this.adoptLease(lease);
    if (lease < this.#lease || this.#finished.has(eventId)) return;
    const message = this.#messages.get(eventId) ?? this.#begin(eventId, invocationId, author);
    const growing = thought ? message.thought : message.text;
    if (!growing.write(offset, text) || (blocks && !growing.render(blocks))) this.onGap();
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
    header.append(makeAuto("span", "author", asWords(author)));
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

// Rendered blocks of a text, and the plain text behind them. Positions count from the start of the whole text.
class GrowingText {
  #rendered = makeAuto("div", "prose");
  #plain = document.createTextNode("");
  #start = 0; // position of the plain text

  constructor(parent) {
    const body = make("div", "growing");
    const plain = makeAuto("div", "plain-text");
    plain.append(this.#plain);
    body.append(this.#rendered, plain);
    parent.append(body);
  }

  get isEmpty() {
    return this.#start + this.#plain.length === 0;
  }

  /** Write text at its offset and replace everything after it. Return false when text before it is missing. */
  write(offset, text) {
    if (offset < this.#start) this.#restart();
    const place = offset - this.#start;
    if (place > this.#plain.length) return false;
    this.#plain.replaceData(place, this.#plain.length - place, text);
    return true;
  }

  /**
   * Show the HTML of blocks in place of their plain text. Return false when blocks before them are missing. Blocks from
   * the start of the text are all blocks so far: they replace those that are here.
   */
  render({ start, end, html }) {
    if (start === 0) this.#rendered.replaceChildren();
    else if (start !== this.#start) return false;
    this.#rendered.append(parse(html));
    addCodeHeads(this.#rendered);
    this.#plain.deleteData(0, end - this.#start);
    this.#start = end;
    return true;
  }

  #restart() {
    this.#rendered.replaceChildren();
    this.#plain.data = "";
    this.#start = 0;
  }
}

function asWords(name) {
  const words = name.replace(/[_-]/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

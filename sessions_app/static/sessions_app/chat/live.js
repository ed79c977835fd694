// Streamed text of partial events. It is outside the log, so that screen readers announce only the complete event.

import { make } from "./dom.js";

export class LiveText {
  #messages = new Map();
  #finished = new Set();
  #lease = 0;

  /** @param onGap - Callback when text before a received fragment is missing. */
  constructor(region, { onGap }) {
    this.region = region;
    this.onGap = onGap;
  }

  get isEmpty() {
    return this.#messages.size === 0;
  }

  /**
   * Write text at its offset and replace everything after it.
   * Offsets count UTF-16 code units, separately for text and thoughts.
   */
  write({ lease, event_id: eventId, invocation_id: invocationId, author, offset, text, thought }) {
    this.adoptLease(lease);
    if (lease < this.#lease || this.#finished.has(eventId)) return;
    const message = this.#messages.get(eventId) ?? this.#begin(eventId, invocationId, author);
    const node = thought ? message.thought : message.text;
    if (offset > node.length) {
      this.onGap();
      return;
    }
    node.replaceData(offset, node.length - offset, text);
    message.thoughts.hidden = message.thought.length === 0;
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
    header.append(make("span", "author", asWords(author)));
    const thoughts = make("details", "thought");
    thoughts.append(make("summary", "", "Thinking"));
    article.append(header, thoughts);
    const message = { invocationId, article, thoughts, thought: appendTextNode(thoughts), text: appendTextNode(article) };
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

function appendTextNode(parent) {
  const body = make("div", "growing");
  const node = document.createTextNode("");
  body.append(node);
  parent.append(body);
  return node;
}

function asWords(name) {
  const words = name.replace(/[_-]/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Text that grows while the model writes. It is outside the log, so that it is read out once, when it is whole.

import { make } from "./dom.js";

export class LiveText {
  #messages = new Map();
  #finished = new Set();
  #lease = 0;

  /** @param onGap is called when text is missing in front of what came */
  constructor(region, { onGap }) {
    this.region = region;
    this.onGap = onGap;
  }

  get isEmpty() {
    return this.#messages.size === 0;
  }

  /** Puts text at its place. Offsets count UTF-16 units, of text and thoughts apart; what was behind is replaced. */
  write({ lease, event_id: eventId, invocation_id: invocationId, author, offset, text, thought }) {
    this.takeUp(lease);
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

  /** The event has come: what grew makes room for it. */
  finish(eventId) {
    this.#finished.add(eventId);
    this.#remove(eventId);
  }

  /** A process has the session under a newer lease, and begins anew: what older ones streamed is void. */
  takeUp(lease) {
    if (lease <= this.#lease) return;
    this.#lease = lease;
    this.clear();
  }

  /** Nothing more will come for the invocation. */
  drop(invocationId) {
    for (const [eventId, message] of this.#messages) {
      if (message.invocationId === invocationId) this.#remove(eventId);
    }
  }

  /** What grows will come again from its beginning, or never. */
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
    const message = { invocationId, article, thoughts, thought: growing(thoughts), text: growing(article) };
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

function growing(parent) {
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

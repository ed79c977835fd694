// Event log of the page: each event once, in the order of its seq.

import { addCopyButtons } from "./code.js";
import { parse } from "./dom.js";
import { reopenConfirmations, placeConfirmations } from "./confirmations.js";
import { showLocalTimes } from "./times.js";
import { placeResponses, removeResponsesFrom } from "./calls.js";

export class Conversation {
  /** @param onGap - Callback when events before a received event are missing. */
  constructor(main, { onGap }) {
    this.main = main;
    this.log = main.querySelector("#log");
    this.lastSeq = Number(main.dataset.lastSeq);
    this.onGap = onGap;
    this.#decorate(this.log);
  }

  /** Append the next event; a rewind event removes the events that it undid instead. Return true for a new event. */
  add({ seq, html, rewound_from: rewoundFrom }) {
    if (seq <= this.lastSeq) return false;
    if (seq > this.lastSeq + 1) {
      this.onGap();
      return false;
    }
    this.lastSeq = seq;
    if (rewoundFrom) this.#removeFrom(rewoundFrom);
    else this.#append(parse(html));
    return true;
  }

  /** Prepend older events without announcing them to screen readers. */
  prepend(fragment) {
    this.log.setAttribute("aria-live", "off");
    this.#decorate(fragment);
    this.log.prepend(fragment);
    setTimeout(() => this.log.removeAttribute("aria-live"), 1000);
  }

  /** Return the articles of an invocation, in order. */
  articlesOf(invocationId) {
    return [...this.log.querySelectorAll(`article[data-invocation="${CSS.escape(invocationId)}"]`)];
  }

  /** Return the text of the message that started the invocation, or the name of its first file; null if not shown. */
  messageOf(invocationId) {
    const message = this.articlesOf(invocationId).find((article) => article.matches(".person"));
    return message?.querySelector(".said, .file > span")?.textContent ?? null;
  }

  #append(fragment) {
    this.#decorate(fragment);
    this.log.append(fragment);
  }

  // Responses and confirmations that were moved from there into earlier articles are removed too.
  #removeFrom(first) {
    const rows = [...this.log.querySelectorAll("article[data-seq], .outcome")];
    const from = rows.findIndex((row) => row.dataset.seq >= first);
    if (from >= 0) rows.slice(from).forEach((row) => row.remove());
    removeResponsesFrom(this.log, first);
    reopenConfirmations(this.log, first);
  }

  // Times first: what is placed elsewhere leaves the root.
  #decorate(root) {
    showLocalTimes(root);
    placeResponses(this.log, root);
    placeConfirmations(this.log, root);
    addCopyButtons(root);
  }
}

/** Return the invocations that the server embedded in a page of the log. */
export function embeddedInvocations(root) {
  return [...root.querySelectorAll('.log-page > script[type="application/json"]')].flatMap((data) =>
    JSON.parse(data.textContent),
  );
}

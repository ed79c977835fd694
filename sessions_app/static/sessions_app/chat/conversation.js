// The log: every event once, in the order of its number.

import { addCopyButtons } from "./code.js";
import { parse } from "./dom.js";
import { reopenQuestions, settleQuestions } from "./questions.js";
import { showLocalTimes } from "./times.js";
import { pairResults, takeResultsOut } from "./tools.js";

export class Conversation {
  /** @param onGap is called when events are missing in front of one that came */
  constructor(main, { onGap }) {
    this.main = main;
    this.log = main.querySelector("#log");
    this.lastSeq = Number(main.dataset.lastSeq);
    this.onGap = onGap;
    this.#decorate(this.log);
  }

  /** Adds an event that follows what is here; a rewind takes out what it undid instead. True when it was new. */
  add({ seq, html, rewound_from: rewoundFrom }) {
    if (seq <= this.lastSeq) return false;
    if (seq > this.lastSeq + 1) {
      this.onGap();
      return false;
    }
    this.lastSeq = seq;
    if (rewoundFrom) this.#takeOut(rewoundFrom);
    else this.#append(parse(html));
    return true;
  }

  /** Puts older events in front, without reading them out. */
  addEarlier(fragment) {
    this.log.setAttribute("aria-live", "off");
    this.#decorate(fragment);
    this.log.prepend(fragment);
    setTimeout(() => this.log.removeAttribute("aria-live"), 1000);
  }

  /** The articles of an invocation, in order. */
  articlesOf(invocationId) {
    return [...this.log.querySelectorAll(`article[data-invocation="${CSS.escape(invocationId)}"]`)];
  }

  /** What the person said to start the invocation; null when it is not on the page. */
  messageOf(invocationId) {
    const said = this.articlesOf(invocationId).find((article) => article.matches(".person"));
    return said?.querySelector(".said")?.textContent ?? null;
  }

  #append(fragment) {
    this.#decorate(fragment);
    this.log.append(fragment);
  }

  // What was moved from there into earlier articles goes, too.
  #takeOut(first) {
    const rows = [...this.log.querySelectorAll("article[data-seq], .outcome")];
    const from = rows.findIndex((row) => row.dataset.seq >= first);
    if (from >= 0) rows.slice(from).forEach((row) => row.remove());
    takeResultsOut(this.log, first);
    reopenQuestions(this.log, first);
  }

  #decorate(root) {
    pairResults(this.log, root);
    settleQuestions(this.log, root);
    showLocalTimes(root);
    addCopyButtons(root);
  }
}

/** The invocations that the server told with a stretch of the log. */
export function toldInvocations(root) {
  return [...root.querySelectorAll('.log-page > script[type="application/json"]')].flatMap((data) =>
    JSON.parse(data.textContent),
  );
}

// Event log of the page: each event once, in the order of its seq.

import { Chunks } from "./chunks.js";
import { addCodeHeads } from "./code.js";
import { parse } from "./dom.js";
import { reopenConfirmations, placeConfirmations } from "./confirmations.js";
import { mute } from "./mute.js";
import { showLocalTimes } from "./times.js";
import { placeResponses, removeResponsesFrom } from "./calls.js";

const MIN_RUN = 4;
const OPEN_QUESTIONS = '.question[data-asks-for]:not([data-verdict]), .job[data-status="waiting"]';

export class Conversation {
  #runs = null;

  /** @param onGap - Callback when events before a received event are missing. */
  constructor(main, { onGap }) {
    this.main = main;
    this.log = main.querySelector("#log");
    this.chunks = new Chunks(this.log);
    this.lastSeq = Number(main.dataset.lastSeq);
    this.onGap = onGap;
    this.#decorate(this.log);
    this.#update();
  }

  /** Append the next event; a rewind event removes the events that it undid instead. Return true for a new event. */
  add({ seq, html, rewound_from: rewoundFrom }) {
    if (seq <= this.lastSeq) return false;
    if (seq > this.lastSeq + 1) {
      this.onGap();
      return false;
    }
    this.lastSeq = seq;
    if (rewoundFrom) this.removeFrom(rewoundFrom);
    else this.append(parse(html));
    return true;
  }

  /** Append rows at the end. */
  append(rows) {
    this.#decorate(rows);
    this.chunks.append(rows);
    this.#update();
  }

  /** Prepend older events without announcing them to screen readers. */
  prepend(fragment) {
    mute(this.log);
    this.#decorate(fragment);
    this.chunks.prepend(fragment);
    this.#update();
  }

  /** Return the elements of the log that match, in order, those of folded chunks included. */
  findAll(selector) {
    return this.chunks.roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  }

  /** Return the first element of the log that matches; undefined without one. */
  find(selector) {
    return this.chunks.roots.map((root) => root.querySelector(selector)).find(Boolean);
  }

  /** Number of approvals and job questions that wait for the person. */
  get questions() {
    return this.findAll(OPEN_QUESTIONS).length;
  }

  /** Return the articles of an invocation, in order. */
  articlesOf(invocationId) {
    return this.findAll(`article[data-invocation="${CSS.escape(invocationId)}"]`);
  }

  /** Return the text of the message that started the invocation, or the name of its first file; null if not shown. */
  messageOf(invocationId) {
    const message = this.articlesOf(invocationId).find((article) => article.matches(".person"));
    return message?.querySelector(".said, .file > span")?.textContent ?? null;
  }

  /**
   * Remove the rows from seq `first` on, with responses and confirmations that were moved from there into earlier
   * articles. Withdrawals of allowances stay.
   */
  removeFrom(first) {
    this.chunks.unfold();
    const rows = this.findAll("article[data-seq]:not(:has([data-withdraws])), .outcome");
    const from = rows.findIndex((row) => row.dataset.seq >= first);
    if (from >= 0) rows.slice(from).forEach((row) => row.remove());
    removeResponsesFrom(this.log, first);
    reopenConfirmations(this.log, first);
    this.#update();
  }

  // Update the rows that depend on others before or after them.
  #update() {
    this.#quietErrors();
    this.#foldRuns();
  }

  async #quietErrors() {
    if (!this.find("article[data-error]")) return;
    const { quietRetriedErrors } = await import("./retried.js");
    quietRetriedErrors(this.findAll("article[data-seq]:not([hidden])"));
  }

  async #foldRuns() {
    if (!this.#runs) {
      if (this.findAll(".tool[data-call-id]").length < MIN_RUN) return;
      const { Runs } = await import("./call_runs.js");
      this.#runs ??= new Runs(this, { shortest: MIN_RUN, onOpen: (articles) => this.chunks.unfold(articles) });
    }
    this.#runs.update();
  }

  // Times first: elements that are placed elsewhere leave the root.
  #decorate(root) {
    showLocalTimes(root);
    const roots = [...this.chunks.roots, root];
    placeResponses(...roots);
    placeConfirmations(...roots);
    addCodeHeads(root);
  }
}

/** Return the invocations that the server embedded in a page of the log. */
export function embeddedInvocations(root) {
  return [...root.querySelectorAll('.log-page > script[type="application/json"]')].flatMap((data) =>
    JSON.parse(data.textContent),
  );
}

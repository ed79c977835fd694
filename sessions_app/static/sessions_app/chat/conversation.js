// Event log of the page: each event once, in the order of its seq.

import { placeResponses, removeResponsesFrom, showJob } from "./calls.js";
import { Chunks } from "./chunks.js";
import { addCodeHeads } from "./code.js";
import { placeConfirmations, reopenConfirmations } from "./confirmations.js";
import { parse } from "./dom.js";
import { quietRetriedErrors } from "./outcomes.js";
import { showLocalTimes } from "./times.js";

const MIN_RUN = 4; // calls in a row that fold to one line
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
    this.chunks.mute();
    this.#decorate(fragment);
    this.chunks.prepend(fragment);
    this.#update();
  }

  /** Return the elements of the log that match, in order, also in folded chunks. */
  findAll(selector) {
    return this.chunks.roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  }

  /** Return the first element of the log that matches; undefined without one. */
  find(selector) {
    return this.chunks.roots.map((root) => root.querySelector(selector)).find(Boolean);
  }

  /** Seq of the first event of the pages that are loaded. */
  get firstSeq() {
    return Number(this.log.querySelector(".log-page").dataset.firstSeq);
  }

  set firstSeq(seq) {
    this.log.querySelector(".log-page").dataset.firstSeq = String(seq);
  }

  /** Number of approvals and job questions that wait for the person. */
  get questions() {
    return this.findAll(OPEN_QUESTIONS).length;
  }

  /** Return the articles of an invocation, in order. */
  articlesOf(invocationId) {
    return this.findAll(`article[data-invocation="${CSS.escape(invocationId)}"]`);
  }

  /** Return the articles that the invocation wrote: those of an answer may belong to the invocation that asked. */
  articlesBy(invocationId) {
    const id = CSS.escape(invocationId);
    return this.findAll(`article[data-writer="${id}"], article[data-invocation="${id}"]:not([data-writer])`);
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
    if (from >= 0) for (const row of rows.slice(from)) row.remove();
    removeResponsesFrom(this.log, first);
    reopenConfirmations(this.log, first);
    this.#update();
  }

  // Update the rows that depend on others before or after them.
  #update() {
    quietRetriedErrors(this.findAll("article[data-seq]:not([hidden])"));
    this.#foldRuns();
  }

  async #foldRuns() {
    if (!this.#runs) {
      if (this.findAll(".tool[data-call-id]").length < MIN_RUN) return;
      const { CallRuns } = await import("./call_runs.js");
      this.#runs ??= new CallRuns(this, { minCalls: MIN_RUN, onOpen: (articles) => this.chunks.unfold(articles) });
    }
    this.#runs.update();
  }

  // Times first: elements that are placed elsewhere leave the root.
  #decorate(root) {
    showLocalTimes(root);
    const roots = [...this.chunks.roots, root];
    placeResponses(...roots);
    placeConfirmations(...roots);
    for (const place of root.querySelectorAll(".job-place")) showJob(place, place);
    addCodeHeads(root);
  }
}

// News of the chat while its tab is hidden: words before the title of the page, and notifications.

import { notify } from "./notifications.js";

const NEEDS_PERSON = "Needs you";
const ACTIVE = { invocation: ["queued", "running"], job: ["queued", "running", "waiting"] };
const WORDS = {
  invocation: { completed: "Answer ready", failed: "Answer failed" },
  job: { succeeded: "Job done", failed: "Job failed" },
};
const OPEN_QUESTIONS = '.question[data-asks-for]:not([data-verdict]), .job[data-status="waiting"]';

export class News {
  #statuses;
  #ended = [];
  #questions = 0;

  /**
   * @param statuses - Statuses of invocations and jobs by id, as they were when the tab was hidden.
   * @param person - Id of the person, whose choice about notifications counts.
   * @param getTitle - Return the title of the chat.
   * @param onChange - Callback when `words` has changed.
   */
  constructor(statuses, { conversation, person, getTitle, onChange }) {
    this.#statuses = statuses;
    Object.assign(this, { conversation, person, getTitle, onChange });
    document.addEventListener("visibilitychange", () => this.#begin());
    this.#begin();
  }

  /** Words for the title of the page; empty while the tab is seen, and without news. */
  get words() {
    if (!document.hidden) return "";
    if (this.#questions) return NEEDS_PERSON;
    return this.#ended.length ? `(${this.#ended.length}) ${this.#ended.at(-1)}` : "";
  }

  /** Note the status of an invocation or a job; `kind` says which. */
  note(kind, { id, status }) {
    const wasActive = ACTIVE[kind].includes(this.#statuses.get(id));
    this.#statuses.set(id, status);
    const words = wasActive ? WORDS[kind][status] : undefined;
    if (words && document.hidden) this.#ended.push(words);
    this.update(words);
  }

  /** Look for new questions in the log, and show the news; `words` say what has ended. */
  update(words = "") {
    if (!document.hidden) return;
    const before = this.#questions;
    this.#questions = this.conversation.findAll(OPEN_QUESTIONS).length;
    const latest = this.#questions > before ? NEEDS_PERSON : words;
    if (latest) notify(this.person, latest, this.getTitle());
    this.onChange();
  }

  // Questions from before are no news, but the title tells them too.
  #begin() {
    this.#ended = [];
    this.#questions = this.conversation.findAll(OPEN_QUESTIONS).length;
    this.onChange();
  }
}

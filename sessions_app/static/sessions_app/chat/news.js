// News of the chat while its tab is hidden: words before the title of the page, and notifications.

import { t } from "./language.js";

const NEEDS_PERSON = t("Needs you");
// Statuses after which an end is news. A waiting job still brings a result; a waiting invocation has answered already.
const AWAITED = { invocation: ["queued", "running"], job: ["queued", "running", "waiting"] };
const WORDS = {
  invocation: { completed: t("Answer ready"), failed: t("Answer failed") },
  job: { succeeded: t("Job done"), failed: t("Job failed") },
};

export class News {
  #ended = []; // words for what has ended since the tab was hidden
  #questions;

  /**
   * Call `update` once the page can ask for `words`.
   * @param statuses - Statuses of the jobs on the page, by id.
   * @param onNews - Callback with words for a notification.
   * @param onChange - Callback when `words` has changed.
   */
  constructor(statuses, { conversation, onNews, onChange }) {
    this.statuses = statuses;
    this.conversation = conversation;
    this.onNews = onNews;
    this.onChange = onChange;
    this.#questions = conversation.questions;
    document.addEventListener("visibilitychange", () => this.#begin());
  }

  /** Words for the title of the page; empty while the tab is seen, and without news. */
  get words() {
    if (!document.hidden) return "";
    if (this.#questions) return NEEDS_PERSON;
    return this.#ended.length ? `(${this.#ended.length}) ${this.#ended.at(-1)}` : "";
  }

  /** Note the status of an invocation or a job; `kind` says which. */
  note(kind, { id, status }) {
    const wasAwaited = AWAITED[kind].includes(this.statuses.get(id));
    this.statuses.set(id, status);
    const words = wasAwaited ? WORDS[kind][status] : undefined;
    if (words && document.hidden) this.#ended.push(words);
    this.update(words);
  }

  /** Look for new questions in the log, and show the news; `words` say what has ended. */
  update(words = "") {
    if (!document.hidden) return;
    const before = this.#questions;
    this.#questions = this.conversation.questions;
    const latest = this.#questions > before ? NEEDS_PERSON : words;
    if (latest) this.onNews(latest);
    this.onChange();
  }

  // Questions from before are no news, but the title tells them too.
  #begin() {
    this.#ended = [];
    this.#questions = this.conversation.questions;
    this.onChange();
  }
}

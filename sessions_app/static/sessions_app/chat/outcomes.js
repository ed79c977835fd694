// What became of an invocation that did not end well: a sentence, and at the last one a way to try it again.

import { make, makeButton } from "./dom.js";

const UNKNOWN = "Something went wrong, and this was not answered.";

export class Outcomes {
  #told = new Map();
  #last = null;

  /** @param onRetry is called with an invocation's id when its button is pressed; says whether that was sent */
  constructor(conversation, { onRetry }) {
    this.conversation = conversation;
    this.onRetry = onRetry;
  }

  /** Whether something here can be tried again, be it that another tab has done so meanwhile. */
  get offersRetry() {
    return this.#button !== null;
  }

  /**
   * Shows how the invocation stands; `text` is its message when that is not in the log, `at` its time.
   * They are told in order; `isEarlier` is one from before all that were told.
   */
  tell({ id, status, error, text, at, isEarlier = false }) {
    document.getElementById(`outcome-${id}`)?.remove();
    if (!isEarlier && id !== this.#last) {
      this.#button?.remove(); // the conversation has gone on
      this.#last = id;
    }
    this.#told.delete(id);
    if (status !== "failed" && status !== "cancelled") return;
    const told = { id, status, error: error ?? "", text: text ?? "", at: at ?? Date.now() / 1000 };
    this.#told.set(id, told);
    const articles = this.conversation.articlesOf(id);
    const row = this.#row(told, articles);
    if (!row) return;
    row.id = `outcome-${id}`;
    if (articles.length) articles.at(-1).after(row);
    else this.#placeByTime(row, told.at);
  }

  /** An event of the invocation came: it may say itself what the row says. */
  refresh(invocationId) {
    const told = this.#told.get(invocationId);
    if (told) this.tell({ ...told, isEarlier: true });
  }

  /** The server refused: it may be asked again. */
  allowRetry() {
    if (this.#button) this.#button.disabled = false;
  }

  get #button() {
    return this.conversation.log.querySelector(".outcome button");
  }

  #row(told, articles) {
    const row = make("div", "outcome");
    if (!articles.length && told.text) {
      const article = make("article", "event person");
      article.append(make("div", "said", told.text));
      row.append(article);
    }
    if (told.status === "cancelled") {
      if (articles.some((article) => "interrupted" in article.dataset)) return null;
      row.append(make("p", "mark", told.error || "Stopped"));
      return row;
    }
    if (!articles.some((article) => "error" in article.dataset)) {
      row.append(make("p", "error", told.error || UNKNOWN));
    }
    if (told.id === this.#last) row.append(this.#retry(told.id));
    return row.childElementCount ? row : null;
  }

  #retry(id) {
    const button = makeButton("", "Try again", () => {
      button.disabled = this.onRetry(id);
    });
    return button;
  }

  #placeByTime(row, at) {
    const later = [...this.conversation.log.querySelectorAll("article")].find((article) => article.dataset.time > at);
    if (later) later.before(row);
    else this.conversation.log.append(row);
  }
}

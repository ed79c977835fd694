// What became of an invocation that did not end well: a sentence, and a way to send the message again.

import { make, makeButton } from "./dom.js";

const UNKNOWN = "Something went wrong, and this was not answered.";

export class Outcomes {
  #told = new Map();

  /** @param onSendAgain is called with the text of the message */
  constructor(conversation, { onSendAgain }) {
    this.conversation = conversation;
    this.onSendAgain = onSendAgain;
  }

  /** Shows how the invocation ended; `text` is its message when that is not in the log, `at` its time. */
  tell({ id, status, error, text, at }) {
    document.getElementById(`outcome-${id}`)?.remove();
    if (status !== "failed" && status !== "cancelled") return;
    const told = { id, status, error: error ?? "", text: text ?? "", at: at ?? Date.now() / 1000 };
    this.#told.set(id, told);
    const articles = this.conversation.articlesOf(id);
    const row = this.#row(told, articles);
    if (!row) return;
    row.id = `outcome-${id}`;
    if (articles.length) articles.at(-1).after(row);
    else if (told.text) this.#placeByTime(row, told.at);
  }

  /** An event of the invocation came: it may say itself what the row says. */
  refresh(invocationId) {
    const told = this.#told.get(invocationId);
    if (told) this.tell(told);
  }

  /** Articles were taken out: what is told of their invocations goes with them. */
  rewind() {
    for (const [id, told] of this.#told) {
      if (document.getElementById(`outcome-${id}`)) continue;
      if (this.conversation.articlesOf(id).length) this.tell(told);
      else this.#told.delete(id);
    }
  }

  #row(told, articles) {
    const row = make("div", "outcome");
    const message = this.conversation.messageOf(told.id) ?? told.text;
    if (!articles.length) {
      const article = make("article", "event person");
      article.append(make("div", "said", told.text));
      row.append(article);
    }
    if (told.status === "cancelled") {
      if (articles.some((article) => "interrupted" in article.dataset)) return null;
      row.append(make("p", "mark", "Stopped"));
      return row;
    }
    if (!articles.some((article) => "error" in article.dataset)) {
      row.append(make("p", "error", told.error || UNKNOWN));
    }
    if (message) row.append(this.#sendAgain(message));
    return row.childElementCount ? row : null;
  }

  #sendAgain(message) {
    const button = makeButton("", "Send again", () => {
      button.remove();
      this.onSendAgain(message);
    });
    return button;
  }

  #placeByTime(row, at) {
    const later = [...this.conversation.log.querySelectorAll("article")].find((article) => article.dataset.time > at);
    if (later) later.before(row);
    else this.conversation.log.append(row);
  }
}

// Outcomes of failed and cancelled invocations: a message, and a retry button at the last invocation.

import { make, makeAuto, makeButton } from "./dom.js";
import { t } from "./language.js";

const SENT_AGAIN = "retry:";

export class Outcomes {
  #shown = new Map();
  #latestId = null;
  #sentAgain = new Set();

  /**
   * @param onRetry - Send the retry request for an invocation id.
   * @param onPress - Callback when the retry button was pressed, and is about to disappear.
   */
  constructor(conversation, { onRetry, onPress }) {
    this.conversation = conversation;
    this.onRetry = onRetry;
    this.onPress = onPress;
  }

  /** True while no outcome is known that another tab could retry. */
  get isEmpty() {
    return this.#shown.size === 0;
  }

  /**
   * Show the outcome of an invocation; `text` is its message if the log does not show it, `at` its time.
   * Invocations arrive in order, except that `isEarlier` marks one that precedes all others.
   */
  show({ id, client_id: clientId, status, error, text, at, isEarlier = false }) {
    const shown = this.#findRow(id);
    if (clientId?.startsWith(SENT_AGAIN)) this.#quiet(clientId.slice(SENT_AGAIN.length));
    if (!isEarlier && id !== this.#latestId) {
      this.#button?.remove(); // only the last invocation can be retried
      this.#latestId = id;
    }
    this.#shown.delete(id);
    if (status !== "failed" && status !== "cancelled") {
      shown?.remove();
      return;
    }
    const outcome = { id, status, error: error ?? "", text: text ?? "", at: at ?? Date.now() / 1000 };
    this.#shown.set(id, outcome);
    const articles = this.conversation.articlesBy(id);
    const row = this.#makeRow(outcome, articles);
    const isInPlace = !articles.length || articles.at(-1).nextElementSibling === shown;
    if (isInPlace && row?.isEqualNode(shown)) return; // a button that has the focus keeps it
    shown?.remove();
    if (!row) return;
    if (articles.length) articles.at(-1).after(row);
    else this.#placeByTime(row, outcome.at);
    if (this.#sentAgain.has(id)) this.#quiet(id);
  }

  /** Update the row after an event of the invocation, which may show the same outcome. */
  refresh(invocationId) {
    const outcome = this.#shown.get(invocationId);
    if (outcome) this.show({ ...outcome, isEarlier: true });
  }

  /** Enable the retry button again after a refused request. */
  enableRetry() {
    if (this.#button) this.#button.disabled = false;
  }

  get #button() {
    return this.conversation.find(".outcome button") ?? null;
  }

  /** Forget the outcomes whose invocations were removed by a rewind. */
  handleRewind() {
    // A copy: `show` moves an outcome to the end of the map, where the loop would meet it again.
    for (const [id, outcome] of [...this.#shown]) {
      if (this.#findRow(id)) continue;
      if (this.conversation.articlesBy(id).length) this.show(outcome);
      else this.#shown.delete(id);
    }
  }

  #findRow(id) {
    return this.conversation.find(`#outcome-${CSS.escape(id)}`);
  }

  // Quiet the errors of an invocation whose message was sent again.
  #quiet(id) {
    this.#sentAgain.add(id);
    for (const row of [...this.conversation.articlesBy(id), this.#findRow(id)]) if (row) quietErrors(row);
  }

  #makeRow(outcome, articles) {
    const row = make("div", "outcome");
    row.id = `outcome-${outcome.id}`;
    if (!articles.length && outcome.text) {
      const article = make("article", "event person");
      article.append(makeAuto("div", "said", outcome.text));
      row.append(article);
    }
    if (outcome.status === "cancelled") {
      // A rewind has removed the message of this outcome.
      if (!articles.length && !outcome.text && !outcome.error) return null;
      if (articles.some((article) => "interrupted" in article.dataset)) return null;
      row.append(make("p", "mark", outcome.error || t("Stopped")));
      return row;
    }
    if (!articles.some((article) => "error" in article.dataset)) {
      row.append(makeAuto("p", "error", outcome.error || t("Something went wrong. This message was not answered.")));
    }
    if (outcome.id === this.#latestId) row.append(this.#makeRetryButton(outcome.id));
    return row.childElementCount ? row : null;
  }

  #makeRetryButton(id) {
    const button = makeButton("", t("Try again"), () => {
      this.onRetry(id);
      this.onPress();
      button.disabled = true;
    });
    return button;
  }

  #placeByTime(row, at) {
    const later = this.conversation.findAll("article").find((article) => article.dataset.time > at);
    if (later) later.before(row);
    else this.conversation.append(row);
  }
}

/** Make each error quiet that a later article of its invocation follows: its attempt was repeated. */
export function quietRetriedErrors(articles) {
  const last = new Map(articles.map((article) => [article.dataset.invocation, article]));
  for (const article of articles) {
    if ("error" in article.dataset && last.get(article.dataset.invocation) !== article) quietErrors(article);
  }
}

function quietErrors(row) {
  for (const error of row.querySelectorAll(".error")) {
    error.className = "mark";
    error.prepend(`${t("An attempt failed:")} `);
  }
}

// Actions under answers and messages: copy, regenerate, feedback, and the cost of an answer for those who may know it.

import { make, makeButton } from "./dom.js";
import { t } from "./language.js";

const COPIED_MILLISECONDS = 2000;

export class Actions {
  #opinions = new Map(); // by the seq of the answer
  #feedback = null;

  /**
   * @param url - Address of the events; those of an answer's text and feedback follow it.
   * @param onRegenerate - Callback with the invocation whose answer is to be written anew.
   * @param tell - Tell screen readers a sentence.
   * @param onTrouble - Callback with a sentence about what failed.
   */
  constructor(conversation, { url, onRegenerate, tell, onTrouble }) {
    Object.assign(this, { conversation, url, tell, onTrouble });
    this.template = document.getElementById("answer-actions").content.firstElementChild;
    conversation.log.addEventListener("click", (event) => {
      const button = event.target.closest(".actions [data-act]");
      if (!button || event.detail > 1) return; // one act for a double click
      const article = button.closest("article");
      if (button.dataset.act === "copy") this.#copy(article, button);
      else if (button.dataset.act === "regenerate") onRegenerate(article.dataset.invocation);
      else this.#rate(article, button.dataset.act);
    });
    this.update();
  }

  /** Show the actions under the last text of each answer, and those of messages. Call this when the log has changed. */
  update() {
    this.#readOpinions();
    const articles = this.conversation.findAll("article[data-seq]");
    const newest = articles.at(-1)?.dataset.invocation;
    for (const [invocation, group] of Map.groupBy(articles, ({ dataset }) => dataset.invocation)) {
      const answers = group.filter((article) => article.matches(".agent") && article.querySelector(":scope > .prose"));
      const last = answers.pop();
      answers.forEach((article) => article.querySelector(":scope > .actions")?.remove());
      if (last) this.#show(last, group, invocation === newest);
    }
    if (navigator.clipboard) for (const bar of this.conversation.findAll(".person > .actions:not(:has([data-copy]))")) addCopy(bar);
  }

  #addBar(article) {
    const bar = this.template.cloneNode(true);
    if (!navigator.clipboard) bar.querySelector('[data-act="copy"]').remove();
    article.append(bar);
    this.#showOpinion(article);
    return bar;
  }

  // Take the opinions that the server embedded in the pages of the log.
  #readOpinions() {
    for (const page of this.conversation.log.querySelectorAll(".log-page[data-feedback]")) {
      for (const [seq, opinion] of Object.entries(JSON.parse(page.dataset.feedback))) this.#opinions.set(seq, opinion);
      delete page.dataset.feedback;
    }
  }

  #showOpinion(article) {
    const rating = this.#opinions.get(article.dataset.seq)?.rating;
    for (const button of article.querySelectorAll(".actions [aria-pressed]")) button.ariaPressed = button.dataset.act === rating;
  }

  async #rate(article, rating) {
    const { FeedbackForm } = await import("./feedback.js");
    this.#feedback ??= new FeedbackForm(this.#opinions, { ...this, onChange: (changed) => this.#showOpinion(changed) });
    this.#feedback.press(article, rating);
  }

  // Only the newest answer: to write an earlier one anew would undo all that follows it.
  #show(answer, articles, isNewest) {
    const bar = answer.querySelector(":scope > .actions") ?? this.#addBar(answer);
    const isRepeatable = isNewest && this.conversation.messageOf(answer.dataset.invocation) !== null;
    bar.querySelector('[data-act="regenerate"]').hidden = !isRepeatable;
    if (articles.some(({ dataset }) => dataset.tokens)) import("./cost.js").then(({ show }) => show(articles, bar));
  }

  // Copy Markdown for plain text fields, and rich text for documents.
  async #copy(article, button) {
    const forms = import("./answer_forms.js");
    const types = {
      "text/plain": forms.then(({ markdown }) => markdown(`${this.url}${article.dataset.seq}/text/`)),
      "text/html": forms.then(({ richText }) => richText(article)),
    };
    try {
      await navigator.clipboard.write([new ClipboardItem(types)]); // now: some browsers allow it only in the click
      showCopied(button);
      this.tell(t("Copied."));
    } catch {
      this.onTrouble(t("The answer could not be copied. Try again."));
    }
  }
}

function addCopy(bar) {
  const button = makeButton("plain", t("Copy"), async () => {
    await navigator.clipboard.writeText(bar.closest("article").querySelector(".said").textContent);
    button.firstChild.data = t("Copied");
    setTimeout(() => (button.firstChild.data = t("Copy")), COPIED_MILLISECONDS);
  });
  button.dataset.copy = "";
  button.append(make("span", "visually-hidden", ` ${t("this message")}`));
  bar.prepend(button);
}

function showCopied(button) {
  button.dataset.done = "";
  setTimeout(() => delete button.dataset.done, COPIED_MILLISECONDS);
}

// Actions under answers and messages: copy, regenerate, continue, feedback, and the cost of an answer for people who may know it.

import { makeButton } from "./dom.js";
import { list, locale, plural, t } from "./language.js";
import { load } from "./parts.js";
import { readText } from "./requests.js";
import { readSaid } from "./said.js";

const COPIED_MILLISECONDS = 2000;
const OPEN_QUESTION = ".question[data-call-id]:not([data-verdict])";
const cost = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });

export class Actions {
  #opinions = new Map(); // by the seq of the answer
  #feedback = null;

  /**
   * @param url - Address of the events; the addresses of an answer's text and feedback begin with it.
   * @param onRegenerate - Callback with the invocation whose answer is to be written again.
   * @param onContinue - Callback with the message that asks for the rest of an answer.
   * @param announce - Announce a sentence to screen readers.
   * @param onProblem - Callback with a sentence about what failed.
   */
  constructor(conversation, { url, onRegenerate, onContinue, announce, onProblem }) {
    this.conversation = conversation;
    this.url = url;
    this.announce = announce;
    this.onProblem = onProblem;
    this.template = document.getElementById("answer-actions").content.firstElementChild;
    conversation.log.addEventListener("click", (event) => {
      const button = event.target.closest(".actions [data-act]");
      if (!button || event.detail > 1) return; // one act for a double click
      const article = button.closest("article");
      if (button.dataset.act === "copy") this.#copy(article, button);
      else if (button.dataset.act === "regenerate") onRegenerate(article.dataset.invocation);
      else if (button.dataset.act === "read") this.#read(article, button);
      else if (button.dataset.act === "continue") onContinue(button.textContent);
      else this.#rate(article, button.dataset.act);
    });
    this.update();
  }

  /**
   * Show the actions under the last text of each complete answer, and the actions of messages. Call this when the log
   * has changed.
   */
  update() {
    this.#readOpinions();
    const articles = this.conversation.findAll("article[data-seq]");
    const newest = articles.at(-1)?.dataset.invocation;
    for (const [invocation, group] of Map.groupBy(articles, ({ dataset }) => dataset.invocation)) {
      const answers = group.filter((article) => article.matches(".agent") && article.querySelector(":scope > .prose"));
      const isComplete = !group.some((article) => article.querySelector(OPEN_QUESTION));
      const last = isComplete ? answers.pop() : null;
      for (const article of answers) article.querySelector(":scope > .actions")?.remove();
      if (last) this.#show(last, group, invocation === newest);
    }
    if (!navigator.clipboard) return;
    for (const bar of this.conversation.findAll(".person > .actions:not(:has([data-copy]))")) addCopyButton(bar);
  }

  #addBar(article) {
    const bar = this.template.cloneNode(true);
    if (!navigator.clipboard) bar.querySelector('[data-act="copy"]').remove();
    if (!window.speechSynthesis) bar.querySelector('[data-act="read"]')?.remove();
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
    for (const button of article.querySelectorAll(".actions [aria-pressed]")) {
      button.ariaPressed = String(button.dataset.act === rating);
    }
  }

  async #rate(article, rating) {
    const { FeedbackForm } = await load(() => import("./feedback.js"));
    const { url, announce, onProblem } = this;
    const onChange = (changed) => this.#showOpinion(changed);
    this.#feedback ??= new FeedbackForm(this.#opinions, { url, announce, onProblem, onChange });
    this.#feedback.press(article, rating);
  }

  async #read(article, button) {
    const { toggleReading } = await load(() => import("./reading.js"));
    toggleReading(article, button, this);
  }

  // Only the newest answer can be regenerated: for an earlier one, all that follows it would be undone.
  #show(answer, articles, isNewest) {
    const bar = answer.querySelector(":scope > .actions") ?? this.#addBar(answer);
    const isRepeatable = isNewest && this.conversation.messageOf(answer.dataset.invocation) !== null;
    bar.querySelector('[data-act="regenerate"]').hidden = !isRepeatable;
    const isCut = answer.querySelector(":scope > [data-cut]") !== null;
    bar.querySelector('[data-act="continue"]').hidden = !(isNewest && isCut);
    if (articles.some(({ dataset }) => dataset.tokens)) bar.querySelector(".cost").textContent = describeCost(articles);
  }

  // Copy Markdown for plain text fields, and rich text for documents.
  async #copy(article, button) {
    const item = new ClipboardItem({
      "text/plain": readText(`${this.url}${article.dataset.seq}/text/`).then(makePlainText),
      "text/html": makeRichText(article),
    });
    try {
      await navigator.clipboard.write([item]); // now: some browsers allow it only in the click
      button.dataset.done = "";
      setTimeout(() => delete button.dataset.done, COPIED_MILLISECONDS);
      this.announce(t("Copied."));
    } catch {
      this.onProblem(t("The answer could not be copied. Try again."));
    }
  }
}

function makePlainText(markdown) {
  return new Blob([markdown], { type: "text/plain" });
}

function makeRichText(article) {
  const texts = [...article.querySelectorAll(":scope > .prose")].map((text) => text.cloneNode(true));
  for (const text of texts) {
    for (const head of text.querySelectorAll(".code-head")) head.remove();
    for (const code of text.querySelectorAll("pre code")) code.replaceChildren(code.textContent); // without its colours
  }
  return new Blob([texts.map((text) => text.innerHTML).join("")], { type: "text/html" });
}

// The articles of an invocation have used the tokens together.
function describeCost(articles) {
  const sum = (name) => articles.reduce((total, { dataset }) => total + Number(dataset[name] ?? 0), 0);
  const tokens = sum("tokens");
  const price = sum("cost");
  return list([
    tokens && plural("{count} token", "{count} tokens", tokens),
    price && t("cost {price}", { price: cost.format(price) }),
  ]);
}

function addCopyButton(bar) {
  const button = makeButton("plain", t("Copy"), async () => {
    await navigator.clipboard.writeText(readSaid(bar.closest("article")));
    name(t("Copied"), t("Copied"));
    setTimeout(() => name(t("Copy"), t("Copy this message")), COPIED_MILLISECONDS);
  });
  const name = (word, label) => {
    button.textContent = word;
    button.setAttribute("aria-label", label);
  };
  name(t("Copy"), t("Copy this message"));
  button.dataset.copy = "";
  bar.prepend(button);
}

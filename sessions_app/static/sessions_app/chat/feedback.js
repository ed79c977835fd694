// Feedback on answers: a thumb up or down, and a comment. Each can be changed and withdrawn.

import { t } from "./language.js";
import { post } from "./posts.js";

export class FeedbackForm {
  #pending = new Map(); // ratings that are being stored, by the seq of the answer

  /**
   * @param opinions - Opinions of the person, by the `seq` of the answer.
   * @param url - Address of the events; that of an answer's feedback follows it.
   * @param onChange - Callback with the article of an answer whose opinion has changed.
   * @param announce - Announce a sentence to screen readers.
   * @param onProblem - Callback with a sentence about what failed.
   */
  constructor(opinions, { url, onChange, announce, onProblem }) {
    this.opinions = opinions;
    this.url = url;
    this.onChange = onChange;
    this.announce = announce;
    this.onProblem = onProblem;
    this.template = document.getElementById("feedback-form").content.firstElementChild;
  }

  /** Handle a pressed thumb: store the rating, and offer a comment. A second press opens and closes the comment. */
  async press(article, rating) {
    const { seq } = article.dataset;
    if (this.#pending.get(seq) === rating) return; // the server has not stored an earlier press yet
    const opinion = this.opinions.get(seq);
    const form = article.querySelector("form.feedback");
    form?.remove();
    if (opinion?.rating === rating) {
      if (!form) this.#open(article, opinion);
      return;
    }
    this.#pending.set(seq, rating);
    const isStored = await this.#store(article, { rating, comment: opinion?.comment ?? "" });
    this.#pending.delete(seq);
    if (!isStored) return;
    this.announce(t("Thank you. You can add a comment."));
    this.#open(article, this.opinions.get(seq));
  }

  #open(article, { rating, comment }) {
    article.querySelector("form.feedback")?.remove(); // of a press on the other thumb
    const form = this.template.cloneNode(true);
    const field = form.querySelector("textarea");
    field.value = comment;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#finish(article, form, { rating, comment: field.value.trim() });
    });
    form.querySelector("[data-withdraw]").addEventListener("click", () => this.#finish(article, form, null));
    article.append(form);
    form.scrollIntoView({ block: "nearest" });
  }

  async #finish(article, form, opinion) {
    if (!(await this.#store(article, opinion))) return;
    this.announce(opinion ? t("Your feedback is saved.") : t("Your feedback is withdrawn."));
    form.remove();
    const buttons = [...article.querySelectorAll(".actions [aria-pressed]")];
    (buttons.find((button) => button.ariaPressed === "true") ?? buttons[0]).focus();
  }

  // Return true when the server has stored the opinion.
  async #store(article, opinion) {
    const { seq } = article.dataset;
    const response = await post(`${this.url}${seq}/feedback/`, opinion ?? {}).catch(() => null);
    if (!response?.ok || response.redirected) {
      this.onProblem(t("Your feedback could not be saved. Try again."));
      return false;
    }
    if (opinion) this.opinions.set(seq, opinion);
    else this.opinions.delete(seq);
    this.onChange(article);
    return true;
  }
}

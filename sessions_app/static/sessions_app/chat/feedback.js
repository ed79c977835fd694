// Feedback on answers: a thumb up or down, and a comment. Each can be changed and withdrawn.

export class FeedbackForm {
  #opinions = new Map();

  constructor({ url, tell, onTrouble }) {
    Object.assign(this, { url, tell, onTrouble });
    this.template = document.getElementById("feedback-form").content.firstElementChild;
    this.token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  }

  /** Take the opinions that the server embedded in the pages of the log. */
  read(log) {
    for (const page of log.querySelectorAll(".log-page[data-feedback]")) {
      for (const [seq, opinion] of Object.entries(JSON.parse(page.dataset.feedback))) this.#opinions.set(seq, opinion);
      delete page.dataset.feedback;
    }
  }

  /** Show the opinion of an answer on its buttons. */
  show(article) {
    const rating = this.#opinions.get(article.dataset.seq)?.rating;
    for (const button of buttons(article)) button.setAttribute("aria-pressed", button.dataset.act === rating);
  }

  /** Handle a pressed thumb: store the rating, and offer a comment. A second press opens and closes the comment. */
  async press(article, rating) {
    const opinion = this.#opinions.get(article.dataset.seq);
    const form = article.querySelector("form.feedback");
    form?.remove();
    if (opinion?.rating === rating) {
      if (!form) this.#open(article, opinion);
    } else if (await this.#store(article, { rating, comment: opinion?.comment ?? "" })) {
      this.tell("Thank you. You can add a comment.");
      this.#open(article, this.#opinions.get(article.dataset.seq));
    }
  }

  #open(article, { rating, comment }) {
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
    this.tell(opinion ? "Your feedback is saved." : "Your feedback is withdrawn.");
    form.remove();
    (buttons(article).find((button) => button.ariaPressed === "true") ?? buttons(article)[0]).focus();
  }

  // Return true when the server has stored the opinion.
  async #store(article, opinion) {
    const { seq } = article.dataset;
    const body = new URLSearchParams(opinion ?? {});
    const headers = { "X-CSRFToken": this.token };
    const response = await fetch(`${this.url}${seq}/feedback/`, { method: "POST", headers, body }).catch(() => null);
    if (!response?.ok) {
      this.onTrouble("Your feedback could not be saved. Try again.");
      return false;
    }
    if (opinion) this.#opinions.set(seq, opinion);
    else this.#opinions.delete(seq);
    this.show(article);
    return true;
  }
}

function buttons(article) {
  return [...article.querySelectorAll(".actions [aria-pressed]")];
}

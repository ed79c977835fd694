// Going back to a message: its text comes into the composer, and what is sent takes its place.

export class Edit {
  #article = null;

  /**
   * @param mayBegin is asked when the person wants to edit
   * @param onLost is called when the message was replaced elsewhere meanwhile
   */
  constructor(bar, { sessionId, conversation, composer, mayBegin, onLost }) {
    Object.assign(this, { bar, composer, onLost });
    this.key = `edit:${sessionId}`;
    conversation.log.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-edit]");
      if (button && mayBegin()) this.#begin(button.closest("article"));
    });
    bar.querySelector("button").addEventListener("click", () => this.#cancel());
    bar.parentElement.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && this.#article) this.#cancel();
    });
    this.#resume(conversation);
  }

  /** What is being written is sent: returns the invocation whose message it replaces; undefined for a new message. */
  finish() {
    const replaces = this.#article?.dataset.invocation;
    this.#end();
    return replaces;
  }

  /** Articles were taken out: what replaces a message that is gone would be a new one. */
  rewind() {
    if (!this.#article || this.#article.isConnected) return;
    this.#end({ keepsText: true });
    this.onLost();
  }

  #begin(article) {
    this.#end();
    this.#article = article;
    const { invocation } = article.dataset;
    sessionStorage.setItem(this.key, invocation);
    article.dataset.editing = "";
    this.bar.hidden = false;
    this.composer.field.setAttribute("aria-describedby", "editing-text");
    this.composer.write(`${this.key}:${invocation}`, article.querySelector(".said").textContent);
  }

  #cancel() {
    const article = this.#article;
    this.#end();
    article.querySelector("button[data-edit]").focus();
  }

  #end(how) {
    if (!this.#article) return;
    delete this.#article.dataset.editing;
    this.#article = null;
    sessionStorage.removeItem(this.key);
    this.bar.hidden = true;
    this.composer.field.removeAttribute("aria-describedby");
    this.composer.writeDraft(how);
  }

  // The page was loaded anew in the middle of it.
  #resume(conversation) {
    const invocation = sessionStorage.getItem(this.key);
    if (!invocation) return;
    const articles = conversation.articlesOf(invocation);
    this.#begin(articles.find((article) => article.querySelector("button[data-edit]")) ?? goneMessage(invocation));
    this.rewind();
  }
}

function goneMessage(invocation) {
  const article = document.createElement("article");
  article.dataset.invocation = invocation;
  article.append(Object.assign(document.createElement("div"), { className: "said" }));
  return article;
}

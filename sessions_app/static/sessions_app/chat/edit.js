// Editing of a sent message: its text moves to the composer, and the message that is sent replaces it.

import { t } from "./language.js";
import { load } from "./parts.js";
import { readSaid } from "./said.js";

const EDITED = "edit";

export class Edit {
  #article = null;

  /**
   * @param earlier - Earlier pages of the log.
   * @param onRepeat - Callback with the text, the invocation and the files of a message to send again.
   * @param onProblem - Callback with a sentence about why there is no edit; empty when there is one.
   */
  constructor(bar, { storage, conversation, composer, invocations, earlier, onRepeat, onProblem }) {
    this.bar = bar;
    this.storage = storage;
    this.conversation = conversation;
    this.composer = composer;
    this.invocations = invocations;
    this.earlier = earlier;
    this.onRepeat = onRepeat;
    this.onProblem = onProblem;
    bar.querySelector("button").addEventListener("click", () => this.#cancel());
    bar.parentElement.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && this.#article) this.#cancel();
    });
    this.#resume();
  }

  /** Begin to edit the message of an article if it may be replaced now. */
  start(article) {
    if (this.#isAllowed() && article.isConnected) this.#begin(article);
  }

  /** Send the message that started an invocation again, in its own place. */
  repeat(invocation) {
    if (!this.#isAllowed()) return;
    const message = this.conversation.articlesOf(invocation).find((article) => article.matches(".person"));
    this.onRepeat(readSaid(message) ?? "", invocation, filesOf(message));
    this.composer.takeFocus(this.conversation.log);
  }

  /** End the edit and return the invocation whose message is replaced; undefined for a new message. */
  finish() {
    const replaces = this.#article?.dataset.invocation;
    this.#end();
    return replaces;
  }

  /** Keep the text as a draft when the edited message was removed by a rewind. */
  handleRewind() {
    if (!this.#article || this.#article.isConnected) return;
    this.#end({ keepsText: true });
    this.onProblem(t("The message that you were editing was removed. Your text will be sent as a new message."));
  }

  // Say why a message cannot be replaced now.
  #isAllowed() {
    const isRunning = this.invocations.current !== null;
    this.onProblem(isRunning ? t("An answer is being written. Stop it or wait for it to finish, then edit.") : "");
    return !isRunning && !this.composer.field.disabled;
  }

  #begin(article) {
    this.#end();
    this.#article = article;
    const { invocation } = article.dataset;
    this.storage.set(EDITED, invocation);
    article.dataset.editing = "";
    this.bar.hidden = false;
    this.composer.field.setAttribute("aria-describedby", "editing-text");
    const slot = { storage: this.storage, name: `${EDITED}:${invocation}` };
    const { composer } = this;
    composer.open(slot, readSaid(article), filesOf(article));
    composer.field.focus();
    composer.field.setSelectionRange(composer.field.value.length, composer.field.value.length);
  }

  #cancel() {
    const article = this.#article;
    this.#end();
    article.querySelector("button[data-edit]").focus();
  }

  #end({ keepsText = false } = {}) {
    if (!this.#article) return;
    delete this.#article.dataset.editing;
    this.#article = null;
    this.storage.set(EDITED, "");
    this.bar.hidden = true;
    this.composer.field.removeAttribute("aria-describedby");
    returnToDraft(this.composer, keepsText);
  }

  // Continue an edit after a reload of the page.
  async #resume() {
    const invocation = this.storage.get(EDITED);
    if (!invocation) return;
    const article = await this.#findEditable(invocation);
    if (this.#article) return; // another edit has begun
    if (!article && !document.getElementById("earlier").hidden) {
      this.onProblem(t("The message that you were editing could not be loaded. Reload the page."));
      return;
    }
    this.#begin(article ?? makeRemovedArticle(invocation));
    this.conversation.chunks.unfold([this.#article]); // a folded article would count as removed
    this.handleRewind();
  }

  // Return the article of a message that can be edited; load earlier pages until it is there.
  async #findEditable(invocation) {
    const find = () =>
      this.conversation.articlesOf(invocation).find((article) => article.querySelector("button[data-edit]"));
    let article = find();
    while (!article && (await this.earlier.load())) article = find();
    return article;
  }
}

// Discard the edited text and its files, or append them to the draft.
async function returnToDraft(composer, keepsText) {
  const { field, files, slot } = composer;
  const text = field.value;
  const attached = files.forget();
  slot.storage.set(slot.name, "");
  composer.open(composer.draft);
  if (keepsText) {
    field.value = [field.value, text].filter(Boolean).join("\n");
    files.items.push(...attached);
    files.update();
  } else if (attached.length) {
    const { discard } = await load(() => import("./upload_files.js"));
    for (const file of attached) discard(files, file);
  }
}

// Return the files of a message, as the composer lists them.
function filesOf(article) {
  return [...article.querySelectorAll(".files > li")].map((row) => ({
    name: row.dataset.name,
    version: Number(row.dataset.version),
    facts: row.querySelector(".file-facts").textContent,
    url: row.querySelector(".file").href,
    preview: row.querySelector(".file").dataset.preview,
    isImage: row.querySelector(".picture") !== null,
    isSent: true,
  }));
}

function makeRemovedArticle(invocation) {
  const article = document.createElement("article");
  article.dataset.invocation = invocation;
  article.append(Object.assign(document.createElement("div"), { className: "said" }));
  return article;
}

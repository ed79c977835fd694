// Versions of a message: the switch under it, and the return to another version with all that followed it.

import { t } from "./language.js";
import { readLogPage } from "./log_pages.js";
import { readPart } from "./requests.js";

export class Alternatives {
  #pressed = null;
  #awaitsMessage = true; // the next message may be a new version
  #missingFrom = Infinity;

  /**
   * @param store - Element with the switches that the server made.
   * @param url - Address of the events; that of the switches follows it.
   * @param onSwitch - Ask for the version that an event is part of; return true when that was sent.
   * @param onLoaded - Callback with the invocations of events that were put back.
   * @param announce - Announce a sentence to screen readers.
   * @param onProblem - Callback with a sentence about what failed.
   */
  constructor(store, { conversation, url, onSwitch, onLoaded, announce, onProblem }) {
    this.store = store;
    this.conversation = conversation;
    this.url = url;
    this.onSwitch = onSwitch;
    this.onLoaded = onLoaded;
    this.announce = announce;
    this.onProblem = onProblem;
    conversation.log.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-switch]");
      if (button) this.#press(button);
    });
    this.place();
  }

  /** Put each switch under its message, unless that is on a page of the log that is not loaded. */
  place() {
    const messages = this.conversation.findAll("article.person[data-seq]");
    for (const control of [...this.store.children]) {
      const seq = Number(control.dataset.seq);
      const article = seq >= this.conversation.firstSeq && messages.find(({ dataset }) => Number(dataset.seq) >= seq);
      if (article) (article.querySelector(":scope > .actions") ?? article).prepend(control);
    }
  }

  /** Follow a new event: a return to another version, a rewind, or the first message after one. */
  async handle({ seq, event, rewound_from: rewoundFrom }) {
    if (event.customMetadata?.adk_undone_rewind) {
      const isFirst = this.#missingFrom === Infinity;
      this.#missingFrom = Math.min(this.#missingFrom, rewoundFrom);
      if (isFirst) await this.#putBack();
    } else if (rewoundFrom) {
      this.#awaitsMessage = true;
    } else if (this.#awaitsMessage && document.getElementById(`event-${seq}`)?.matches(".person")) {
      this.#awaitsMessage = false;
      this.#pressed = null; // the server has refused the switch
      this.#replace(await this.#read());
    }
  }

  #press(button) {
    const isSent = this.onSwitch(Number(button.dataset.switch));
    if (isSent) this.#pressed = { ...placeOf(button), top: button.getBoundingClientRect().top };
    else this.onProblem(t("There is no connection. Try again."));
  }

  // Load and show the events in effect; once more if the log has changed in the meantime.
  async #putBack() {
    try {
      let pages;
      let controls;
      let seq;
      let first;
      do {
        seq = this.conversation.lastSeq;
        first = this.#missingFrom;
        [pages, controls] = await Promise.all([this.#load(seq, first), this.#read()]);
      } while (seq !== this.conversation.lastSeq || first !== this.#missingFrom);
      this.#show(pages, first);
      this.#replace(controls); // at once: no message is without its switch for a moment
    } catch {
      this.onProblem(t("This version could not be loaded. Reload the page."));
    } finally {
      this.#missingFrom = Infinity;
    }
  }

  // A page that showed only the version that was left needs just the newest events.
  async #load(seq, first) {
    const isEnough = first <= this.conversation.firstSeq && !this.#pressed;
    const pages = [await readLogPage(this.url, seq + 1)];
    while (pages[0].hasMore && pages[0].firstSeq > first && !isEnough) {
      pages.unshift(await readLogPage(this.url, pages[0].firstSeq));
    }
    return pages;
  }

  #show(pages, first) {
    const isWhole = first <= this.conversation.firstSeq;
    this.conversation.chunks.mute();
    this.conversation.removeFrom(first);
    for (const row of this.conversation.findAll("article[data-seq]")) if (row.dataset.seq >= first) row.remove();
    for (const chunk of pages.flatMap(({ fragment }) => [...fragment.querySelectorAll(".chunk")])) {
      const rows = document.createDocumentFragment();
      rows.append(...[...chunk.children].filter((row) => isWhole || row.dataset.seq >= first));
      if (rows.childElementCount) this.conversation.append(rows);
    }
    if (isWhole) {
      this.conversation.firstSeq = pages[0].firstSeq;
      document.getElementById("earlier").hidden = !pages[0].hasMore;
    }
    this.onLoaded(pages.flatMap(({ invocations }) => invocations));
  }

  #read() {
    return readPart(`${this.url}alternatives/`);
  }

  #replace(controls) {
    const focused = this.#pressed ?? placeOf(document.activeElement);
    for (const control of this.conversation.findAll(".versions")) control.remove();
    this.store.replaceChildren(controls);
    this.place();
    if (focused) this.#focus(focused);
    this.#pressed = null;
  }

  #focus({ fork, index, top }) {
    const control = this.conversation.find(`.versions[data-fork="${fork}"]`);
    if (!control) return;
    this.conversation.chunks.unfold([control]);
    const buttons = [...control.querySelectorAll("button")];
    const button = buttons[index].disabled ? buttons.find(({ disabled }) => !disabled) : buttons[index];
    button.focus({ preventScroll: true });
    if (top === undefined) return;
    scrollBy({ top: button.getBoundingClientRect().top - top, behavior: "instant" });
    this.announce(control.querySelector(".visually-hidden").textContent);
  }
}

// Place of a button, for its successor after a refresh; undefined for another element.
function placeOf(button) {
  const control = button.closest(".versions");
  return control
    ? { fork: control.dataset.fork, index: [...control.querySelectorAll("button")].indexOf(button) }
    : undefined;
}

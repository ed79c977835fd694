// Inbox: the activity in all chats. Its questions are answered and its work is cancelled in frames to their chats.

import { Answers, listenForAnswers } from "./answers.js";
import { listenForConfirmations } from "./confirmations.js";
import { make, moveFocus, setEnabled } from "./dom.js";
import { Jobs, replaceCard } from "./jobs.js";
import { plural, t } from "./language.js";
import { postFrame, problemOf } from "./posts.js";
import { showElapsed } from "./times.js";

const LISTS = "ul.activities";
const NEWS_DELAY = 300;

export class Inbox {
  #isReading = false;
  #isStale = false;
  #answered = new Map(); // words for what the person has answered here, by the id of its item

  /**
   * @param root - Element with the lists, as the server renders them.
   * @param read - Read the lists again; return a fragment, or null if the shown lists should stay.
   */
  constructor(root, { read }) {
    this.root = root;
    this.read = read;
    this.status = make("p", "visually-hidden");
    this.status.setAttribute("role", "status");
    root.after(this.status);
    const sender = (type, words) => (fields, element) => this.#send(type, fields, element, words);
    const answers = new Answers(null, {
      onAnswer: sender("respond", t("Answered")),
      onChoose: sender("choose", t("Answered")),
      onWithdraw: () => {}, // no question has this button before its answer
    });
    const jobs = new Jobs(null, {
      onCancel: (id, button) => this.#send("cancel_job", { id }, button, t("Cancelled")),
      onAnswer: sender("answer_job", t("Answered")),
    });
    listenForAnswers(root, { answers, jobs });
    listenForConfirmations(root, (answer, request) => {
      this.#send("confirm", answer, request, answer.confirmed ? t("Approved") : t("Rejected"));
    });
    root.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-cancel-schedule]");
      if (!button) return;
      button.disabled = true;
      this.#send("cancel_schedule", { id: Number(button.dataset.cancelSchedule) }, button, "");
    });
    setInterval(() => showElapsed(root), 1000);
    document.addEventListener("visibilitychange", () => this.refresh());
  }

  /** Read the lists again soon; on a hidden page, when it is shown. */
  refresh() {
    this.#isStale = true;
    if (this.#isReading || document.hidden) return;
    this.#isReading = true; // of two reads at once, the older one could end last
    setTimeout(() => this.#readAgain(), NEWS_DELAY);
  }

  get #asked() {
    return this.root.querySelectorAll("[data-asked]").length;
  }

  async #readAgain() {
    this.#isStale = false;
    let fresh = null;
    try {
      fresh = await this.read();
    } finally {
      this.#isReading = false;
    }
    // A link or button that is replaced between press and release gets no click.
    const isPressed = this.root.matches(":active");
    if (this.#isStale || isPressed) this.refresh();
    if (isPressed) return;
    const asked = this.#asked;
    if (fresh) this.#update(fresh);
    if (this.#asked !== asked) this.#announce(this.#asked);
  }

  // The number only: a screen reader would read every change of a job.
  #announce(asked) {
    const words = plural("{count} question waits for you", "{count} questions wait for you", asked);
    this.status.textContent = asked ? words : t("Nothing waits for you.");
  }

  // Show the lists as they were read again. An item in use keeps its elements; an answered question stays and says so.
  #update(fresh) {
    for (const list of fresh.querySelectorAll(LISTS)) this.#updateList(this.root.querySelector(`#${list.id}`), list);
    const cut = "#activity-cut";
    this.root.querySelector(cut)?.replaceWith(fresh.querySelector(cut));
  }

  #updateList(list, fresh) {
    if (!list) return; // the panel shows an error
    const gone = new Map([...list.children].map((item) => [item.id, item]));
    let next = list.firstElementChild;
    for (const item of [...fresh.children]) {
      const shown = gone.get(item.id);
      gone.delete(item.id);
      if (shown) updateItem(shown, item);
      if (shown && shown === next) next = shown.nextElementSibling;
      else list.insertBefore(shown ?? item, next);
    }
    for (const item of gone.values()) {
      if ("asked" in item.dataset) this.#settle(item);
      else if (!("settled" in item.dataset)) item.remove();
    }
  }

  // The question was answered: say how, and offer no further answer.
  #settle(item) {
    const hadFocus = item.contains(document.activeElement);
    const words = make("p", "settled", this.#answered.get(item.id) ?? t("Answered elsewhere"));
    for (const choices of item.querySelectorAll(".choices, .asked")) choices.hidden = true;
    delete item.dataset.asked;
    item.dataset.settled = "";
    item.append(words);
    if (hadFocus) moveFocus(words);
  }

  async #send(type, fields, element, words) {
    const item = element.closest("[data-frames]");
    item.querySelector("[role=alert]")?.remove();
    this.#answered.set(item.id, words);
    const problem = await problemOf(postFrame(item.dataset.frames, JSON.stringify({ v: 1, type, ...fields })));
    if (problem) {
      this.#answered.delete(item.id);
      setEnabled(item, true);
      item.append(Object.assign(make("p", "error", problem), { role: "alert" }));
    }
    this.refresh();
  }
}

// A question does not change.
function updateItem(item, fresh) {
  if (item.querySelector(".question")) return;
  const slot = item.querySelector(".job-slot");
  const freshSlot = fresh.querySelector(".job-slot");
  if (slot && freshSlot) {
    const card = new DocumentFragment();
    card.append(...freshSlot.childNodes);
    replaceCard(slot, card);
    return;
  }
  if (item.innerHTML === fresh.innerHTML) return;
  const focused = item.contains(document.activeElement) ? document.activeElement.tagName : "";
  item.replaceChildren(...fresh.childNodes);
  if (focused) item.querySelector(focused)?.focus();
}

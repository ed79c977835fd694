// Cards of jobs. Each card is placed below its function call and replaced by every update.

import { moveFocus, parse, setEnabled } from "./dom.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

await loadStyles("jobs");

export class Jobs {
  #pending = new Map();

  /**
   * @param onCancel - Send the cancel request for a job id.
   * @param onAnswer - Send {id, number, answer} for a job's question.
   */
  constructor(conversation, { onCancel, onAnswer }) {
    Object.assign(this, { conversation, onCancel, onAnswer });
  }

  /** Cancel the job of the button. */
  cancel(button) {
    this.onCancel(button.dataset.cancelJob);
    button.disabled = true;
  }

  /** Send the answer to the question of a job. */
  submit(form, submitter) {
    const { job: id, number, kind } = form.dataset;
    const value = kind === "text" ? form.elements.answer.value : submitter.value;
    const answer = kind === "confirm" ? value === "yes" : value;
    this.onAnswer({ id, number: Number(number), answer });
    setEnabled(form, false);
  }

  /** Show the job; keep it for later when its call is not on the page yet. */
  show(frame) {
    const fragment = parse(frame.html);
    showLocalTimes(fragment);
    showElapsed(fragment);
    const slot = this.conversation.find(`.job-place[data-call-id="${CSS.escape(frame.call_id)}"]`);
    if (slot) replace(slot, fragment);
    else this.#pending.set(frame.call_id, frame);
  }

  /** Show the jobs whose calls have arrived since. */
  showPending() {
    const frames = [...this.#pending.values()];
    this.#pending.clear();
    for (const frame of frames) this.show(frame);
  }
}

/** Replace the card; keep the text of an answer that is being typed, and the focus on the card. */
function replace(slot, fragment) {
  const old = slot.querySelector("input[name=answer]");
  const fresh = fragment.querySelector("input[name=answer]");
  const isSame = old && fresh && old.form.dataset.number === fresh.form.dataset.number;
  const hadFocus = slot.contains(document.activeElement);
  const isTyping = isSame && old === document.activeElement;
  if (isSame) fresh.value = old.value;
  slot.replaceChildren(fragment);
  if (isTyping) fresh.focus();
  else if (hadFocus) moveFocus(slot.firstElementChild);
}

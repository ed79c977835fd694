// Cards of jobs. Each card is placed below its function call and replaced by every update.

import { moveFocus, parse } from "./dom.js";
import { loadStyles } from "./styles.js";
import { showElapsed, showLocalTimes } from "./times.js";

await loadStyles("jobs");
const loadControls = () => import("./job_controls.js");

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
  async cancel(button) {
    (await loadControls()).cancel(button, this.onCancel);
  }

  /** Send the answer to the question of a job. */
  async submit(form, submitter) {
    (await loadControls()).submit(form, submitter, this.onAnswer);
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
async function replace(slot, fragment) {
  const [line, freshLine] = [slot, fragment].map((card) => card.querySelector(".job-progress"));
  if (line && freshLine) return (await loadControls()).update(line, freshLine);
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

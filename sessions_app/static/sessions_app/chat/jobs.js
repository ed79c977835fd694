// Cards of jobs. Each card is placed below its function call and replaced by every update.

import { showJob } from "./calls.js";
import { moveFocus, parse, setEnabled } from "./dom.js";
import { showElapsed, showLocalTimes } from "./times.js";

export class Jobs {
  #pending = new Map(); // frames by the id of a call that is not on the page yet

  /**
   * @param onCancel - Send the cancel request for a job id, of a pressed button.
   * @param onAnswer - Send {id, number, answer} for a job's question, of a form.
   */
  constructor(conversation, { onCancel, onAnswer }) {
    this.conversation = conversation;
    this.onCancel = onCancel;
    this.onAnswer = onAnswer;
  }

  /** True while a job is queued or runs. */
  get hasActive() {
    return Boolean(this.conversation.find('.job:is([data-status="queued"], [data-status="running"])'));
  }

  /** Return the statuses of the jobs on the page, by id. */
  readStatuses() {
    const cards = this.conversation.findAll(".job");
    return new Map(cards.map(({ dataset }) => [dataset.id, dataset.status]));
  }

  /** Cancel the job of the button. */
  cancel(button) {
    this.onCancel(button.dataset.cancelJob, button);
    moveFocus(button.closest(".job"));
    button.disabled = true;
  }

  /** Send the answer to the question of a job. */
  submit(form, submitter) {
    const { job: id, number, kind } = form.dataset;
    let answer = submitter.value;
    if (kind === "text") answer = form.elements.answer.value;
    if (kind === "confirm") answer = submitter.value === "yes";
    this.onAnswer({ id, number: Number(number), answer }, form);
    moveFocus(form);
    setEnabled(form, false);
  }

  /** Show the job; keep it for later when its call is not on the page yet. */
  show(frame) {
    const fragment = parse(frame.html);
    showLocalTimes(fragment);
    showElapsed(fragment);
    const slot = this.conversation.find(`.job-place[data-call-id="${CSS.escape(frame.call_id)}"]`);
    if (slot) {
      showJob(slot, fragment);
      replaceCard(slot, fragment);
    } else this.#pending.set(frame.call_id, frame);
  }

  /** Show the jobs whose calls have arrived since. */
  showPending() {
    const frames = [...this.#pending.values()];
    this.#pending.clear();
    for (const frame of frames) this.show(frame);
  }
}

/** Replace the card; keep the text of an answer that is being typed, and the focus on the card. */
export function replaceCard(slot, fragment) {
  const line = slot.querySelector(".job-progress");
  const freshLine = fragment.querySelector(".job-progress");
  if (line && freshLine) {
    updateProgress(line, freshLine);
    return;
  }
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

// Replace all of the card but the button, which may be pressed right now or have the focus, and its parents.
function updateProgress(line, freshLine) {
  const button = line.querySelector("button");
  button.disabled = false;
  line.parentNode.dataset.status = freshLine.parentNode.dataset.status;
  replaceSiblings(button, freshLine.querySelector("button"));
  replaceSiblings(line, freshLine);
}

function replaceSiblings(kept, fresh) {
  for (const node of [...kept.parentNode.childNodes]) if (node !== kept) node.remove();
  const nodes = [...fresh.parentNode.childNodes];
  const place = nodes.indexOf(fresh);
  kept.before(...nodes.slice(0, place));
  kept.after(...nodes.slice(place + 1));
}

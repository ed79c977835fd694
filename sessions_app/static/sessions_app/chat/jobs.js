// Cards of long-running work. Each stands under its call and is replaced when there is news.

import { parse } from "./dom.js";
import { allowAnswer } from "./questions.js";
import { showElapsed, showLocalTimes } from "./times.js";

export class Jobs {
  #early = new Map();

  /**
   * @param onCancel is called with a job's id when its button is pressed; says whether that was sent
   * @param onAnswer is called with {id, number, answer} when a job's question is answered; says whether that was sent
   */
  constructor(log, { onCancel, onAnswer }) {
    this.log = log;
    log.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-cancel-job]");
      if (button) button.disabled = onCancel(button.dataset.cancelJob);
    });
    log.addEventListener("submit", (event) => {
      event.preventDefault();
      const form = event.target;
      const { job: id, number, kind } = form.dataset;
      const said = kind === "text" ? form.elements.answer.value : event.submitter.value;
      const answer = kind === "confirm" ? said === "yes" : said;
      if (onAnswer({ id, number: Number(number), answer })) allowAnswer(form, false);
    });
  }

  /** Shows a job as it is now; one whose call has not come yet waits for it. */
  show(frame) {
    const fragment = parse(frame.html);
    showLocalTimes(fragment);
    showElapsed(fragment);
    const place = this.log.querySelector(`.job-place[data-call-id="${CSS.escape(frame.call_id)}"]`);
    if (place) replace(place, fragment);
    else this.#early.set(frame.call_id, frame);
  }

  /** Events came: their calls may have been waited for. */
  settle() {
    const waiting = [...this.#early.values()];
    this.#early.clear();
    for (const frame of waiting) this.show(frame);
  }
}

/** Puts the card in its place; what the person is writing in the old one stays. */
function replace(place, fragment) {
  const old = place.querySelector("input[name=answer]");
  const fresh = fragment.querySelector("input[name=answer]");
  const isSame = old && fresh && old.form.dataset.number === fresh.form.dataset.number;
  const hadFocus = old === document.activeElement;
  if (isSame) fresh.value = old.value;
  place.replaceChildren(fragment);
  if (isSame && hadFocus) fresh.focus();
}

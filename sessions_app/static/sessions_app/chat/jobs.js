// Cards of long-running work. Each stands under its call and is replaced when there is news.

import { parse } from "./dom.js";
import { showElapsed, showLocalTimes } from "./times.js";

export class Jobs {
  #early = new Map();

  /** @param onCancel is called with a job's id when its button is pressed; says whether that was sent */
  constructor(log, { onCancel }) {
    this.log = log;
    log.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-cancel-job]");
      if (button) button.disabled = onCancel(button.dataset.cancelJob);
    });
  }

  /** Shows a job as it is now; one whose call has not come yet waits for it. */
  show(frame) {
    const fragment = parse(frame.html);
    showLocalTimes(fragment);
    showElapsed(fragment);
    const place = this.log.querySelector(`.job-place[data-call-id="${CSS.escape(frame.call_id)}"]`);
    if (place) place.replaceChildren(fragment);
    else this.#early.set(frame.call_id, frame);
  }

  /** Events came: their calls may have been waited for. */
  settle() {
    const waiting = [...this.#early.values()];
    this.#early.clear();
    for (const frame of waiting) this.show(frame);
  }
}

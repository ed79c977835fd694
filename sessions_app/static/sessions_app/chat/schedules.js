// Panel of active and failed scheduled tasks: failed ones first, then by next time.

import { parse } from "./dom.js";
import { plural } from "./language.js";
import { showLocalTimes } from "./times.js";

export class Schedules {
  #tasks = new Map(); // frames by the id of their task

  /** @param onCancel - Send the cancel request for a task id; `takeFocus` leaves its button. */
  constructor(panel, { onCancel, takeFocus }) {
    this.panel = panel;
    this.list = panel.querySelector("ul");
    panel.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-cancel-schedule]");
      if (!button) return;
      onCancel(Number(button.dataset.cancelSchedule));
      takeFocus();
      button.disabled = true;
    });
  }

  /** Replace all tasks. */
  replace(frames) {
    this.#tasks = new Map(frames.map((frame) => [frame.id, frame]));
    this.#render();
  }

  /** Update one task; remove it when it is over, cancelled or dismissed. */
  update(frame) {
    if (frame.status === "active" || frame.status === "failed") this.#tasks.set(frame.id, frame);
    else this.#tasks.delete(frame.id);
    this.#render();
  }

  #render() {
    const hadFocus = this.list.contains(document.activeElement);
    const tasks = [...this.#tasks.values()].sort((a, b) => nextTime(a) - nextTime(b));
    this.list.replaceChildren(...tasks.map((task) => parse(task.html)));
    showLocalTimes(this.list);
    const summary = this.panel.querySelector("summary");
    summary.textContent = plural("{count} scheduled task", "{count} scheduled tasks", tasks.length);
    this.panel.hidden = tasks.length === 0;
    if (hadFocus && tasks.length) summary.focus();
  }
}

// A failed task has no next time.
function nextTime({ next_at: at }) {
  return at ? Date.parse(at) : 0;
}

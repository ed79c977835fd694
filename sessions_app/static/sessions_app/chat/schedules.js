// The scheduled tasks of this chat, above the message box: those to come, in the order of their times.

import { parse } from "./dom.js";
import { showLocalTimes } from "./times.js";

export class Schedules {
  #tasks = new Map();

  /** @param onCancel is called with a task's id when its button is pressed; says whether that was sent */
  constructor(panel, { onCancel }) {
    this.panel = panel;
    this.list = panel.querySelector("ul");
    panel.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-cancel-schedule]");
      if (button) button.disabled = onCancel(Number(button.dataset.cancelSchedule));
    });
  }

  /** Shows all that there is. */
  replace(frames) {
    this.#tasks = new Map(frames.map((frame) => [frame.id, frame]));
    this.#show();
  }

  /** Shows one as it is now; what is over or cancelled goes. */
  take(frame) {
    if (frame.status === "active") this.#tasks.set(frame.id, frame);
    else this.#tasks.delete(frame.id);
    this.#show();
  }

  #show() {
    const hadFocus = this.list.contains(document.activeElement);
    const tasks = [...this.#tasks.values()].sort((one, other) => Date.parse(one.next_at) - Date.parse(other.next_at));
    this.list.replaceChildren(...tasks.map((task) => parse(task.html)));
    showLocalTimes(this.list);
    const summary = this.panel.querySelector("summary");
    summary.textContent = tasks.length === 1 ? "1 scheduled task" : `${tasks.length} scheduled tasks`;
    this.panel.hidden = tasks.length === 0;
    if (hadFocus && tasks.length) summary.focus();
  }
}

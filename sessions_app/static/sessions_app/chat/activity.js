// Activity in all chats: work that waits for the person, runs or is scheduled. The server renders it for the panel.

import { t } from "./language.js";
import { load } from "./parts.js";

const NEWS_DELAY = 300;

export class Activity {
  #panel = null; // loaded when it is first opened
  #timer = 0;

  /** @param button - Button that opens the panel with the activity. */
  constructor(button) {
    this.url = button.dataset.url;
    button.addEventListener("click", async () => {
      this.#panel = (await load(() => import("./panel.js"))).panel;
      this.#panel.show(this.url, {
        label: t("Activity"),
        trouble: t("The activity cannot be read now. Try again in a moment."),
      });
    });
  }

  /** Read the activity again soon, if the panel shows it. */
  refresh() {
    if (!this.#panel) return;
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#panel.refresh(this.url);
    }, NEWS_DELAY);
  }
}

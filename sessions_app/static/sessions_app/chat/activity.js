// Activity in all chats: work that waits for the person, runs or is scheduled. The server renders it for the panel.

import { t } from "./language.js";
import { load } from "./parts.js";

const NEWS_DELAY = 300;
const PROGRESS_DELAY = 3000; // the progress of jobs in other chats is no news of the list

export class Activity {
  #panel = null; // loaded when it is first opened
  #inbox = null;
  #timer = 0;

  /** @param button - Button that opens the panel with the activity. */
  constructor(button) {
    this.url = button.dataset.url;
    button.addEventListener("click", () => this.#open());
  }

  /** Read the activity again in `delay` ms, if the panel shows it. */
  refresh(delay = NEWS_DELAY) {
    if (!this.#panel) return;
    this.#timer ||= setTimeout(async () => {
      this.#timer = 0;
      await this.#panel.refresh(this.url, (fresh) => this.#inbox.update(fresh));
      this.#followProgress();
    }, delay);
  }

  async #open() {
    const [{ panel }, { Inbox }] = await load(() => Promise.all([import("./panel.js"), import("./inbox.js")]));
    this.#panel = panel;
    this.#inbox ??= new Inbox(panel.body, { onChange: () => this.refresh() });
    await panel.show(this.url, {
      label: t("Activity"),
      trouble: t("The activity cannot be read now. Try again in a moment."),
    });
    this.#followProgress();
  }

  #followProgress() {
    if (this.#panel.shows(this.url) && this.#inbox.hasProgress) this.refresh(PROGRESS_DELAY);
  }
}

// Activity in all chats: work that waits for the person, runs or is scheduled. The server renders it for the panel.

import { t } from "./language.js";
import { load } from "./parts.js";

export class Activity {
  #inbox = null; // loaded when the panel is first opened

  /** @param button - Button that opens the panel with the activity. */
  constructor(button) {
    this.url = button.dataset.url;
    button.addEventListener("click", () => this.#open());
  }

  /** Read the activity again soon, if the panel shows it. */
  refresh() {
    this.#inbox?.refresh();
  }

  async #open() {
    const [{ panel }, { Inbox }] = await load(() => Promise.all([import("./panel.js"), import("./inbox.js")]));
    this.#inbox ??= new Inbox(panel.body, { read: () => panel.readAgain(this.url) });
    await panel.show(this.url, {
      label: t("Activity"),
      trouble: t("The activity cannot be read now. Try again in a moment."),
    });
  }
}

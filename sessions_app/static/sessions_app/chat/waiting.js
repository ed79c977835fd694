// Sign of work: what the agent is doing and for how long. Screen readers get one announcement for each message.

import { t } from "./language.js";
import { formatDuration } from "./times.js";

const MAX_SECONDS = 3600;
const LONG_MILLISECONDS = 20000;

export class Waiting {
  #announced = { id: null, sentence: "" };
  #label = "";
  #since = 0;
  #longTimer = 0;

  /**
   * @param announce - Announce a sentence to screen readers.
   * @param withdraw - Take back a sentence that was announced.
   * @param onLong - Callback when the work on an invocation takes long.
   */
  constructor(element, { conversation, announce, withdraw, onLong }) {
    this.element = element;
    this.conversation = conversation;
    this.announce = announce;
    this.withdraw = withdraw;
    this.onLong = onLong;
    this.text = element.querySelector(".working-text");
    this.seconds = element.querySelector(".working-seconds");
    setInterval(() => this.#showSeconds(), 1000);
  }

  /** Show the work on an invocation; null when there is none. `isWriting` hides the sign: the text itself grows. */
  update(invocation, { isWriting }) {
    this.element.hidden = invocation === null || isWriting;
    if (invocation === null) {
      clearTimeout(this.#longTimer);
      this.#longTimer = 0;
      if (this.#label) this.withdraw(this.#announced.sentence); // a reader who comes by later must not hear that the agent thinks
      this.#label = "";
      return;
    }
    const label = this.#describe(invocation);
    if (label !== this.#label) this.#since = this.#startTime();
    this.#label = this.text.textContent = label;
    this.#showSeconds();
    if (this.#announced.id !== invocation.id) {
      this.announce(label);
      this.#announced = { id: invocation.id, sentence: label };
    }
    this.#longTimer ||= setTimeout(this.onLong, LONG_MILLISECONDS);
  }

  #describe({ status }) {
    if (status === "queued") return t("Waiting to start…");
    const calls = this.conversation.findAll(
      '.tool[data-call-id][data-state="open"]:not([data-long-running], [data-asks])',
    );
    return calls.at(-1)?.querySelector(".tool-running").textContent ?? t("Thinking…");
  }

  // The newest event began the wait, unless the clocks of server and browser differ too much.
  #startTime() {
    const now = Date.now() / 1000;
    const age = now - Number(this.conversation.findAll("article[data-time]").at(-1)?.dataset.time ?? now);
    return age >= 0 && age < MAX_SECONDS ? now - age : now;
  }

  #showSeconds() {
    const seconds = Math.round(Date.now() / 1000 - this.#since);
    if (!this.element.hidden) this.seconds.textContent = seconds > 0 ? formatDuration(seconds) : "";
  }
}

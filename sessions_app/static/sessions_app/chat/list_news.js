// News of the person's chats, for pages that show several: they tell that something has changed, and not what.

import { make } from "./dom.js";
import { t } from "./language.js";
import { ChatSocket } from "./socket.js";

// A restart of the server takes less: a page that is up to date again so soon has nothing to say.
const OUTAGE_DELAY = 3000;

/**
 * Follow the news, on a connection without a chat. Say so above the page's content while it cannot be followed.
 *
 * @param onSessions - Callback when the list of chats may have changed.
 * @param onActivity - Callback when the activity in the chats may have changed.
 */
export function followListNews({ onSessions = () => {}, onActivity }) {
  const main = document.getElementById("main");
  const handlers = {
    // News from before the connection may be missing.
    ready: [onSessions, onActivity],
    sessions: [onSessions, onActivity],
    activity: [onActivity],
  };
  const outage = new Notice(main);
  const signedOut = new Notice(main);
  new ChatSocket(main.dataset.socket, {
    after: () => 0,
    onFrame: ({ type }) => {
      for (const handle of handlers[type] ?? []) handle();
    },
    onState: (state) => {
      if (state === "reconnecting" || state === "offline") {
        outage.showAfter(OUTAGE_DELAY, t("No connection. What you see here may be out of date."));
        return;
      }
      outage.hide();
      if (state === "signed-out") signedOut.showAfter(0, t("You are signed out. Reload the page to sign in."));
    },
  }).start();
}

class Notice {
  #timer = 0;
  #box = make("p", "notice");

  constructor(main) {
    this.main = main;
    this.#box.setAttribute("role", "alert");
  }

  /** Show the sentence in `delay` ms. A sentence that is shown, or waits to be, stays. */
  showAfter(delay, sentence) {
    this.#box.textContent = sentence;
    this.#timer ||= setTimeout(() => this.main.prepend(this.#box), delay);
  }

  hide() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#box.remove();
  }
}

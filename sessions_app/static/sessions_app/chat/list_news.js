// News of the person's chats, for pages that show several: they tell that something has changed, and not what.

import { make } from "./dom.js";
import { t } from "./language.js";
import { ChatSocket } from "./socket.js";

/**
 * Follow the news, on a connection without a chat.
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
  new ChatSocket(main.dataset.socket, {
    after: () => 0,
    onFrame: ({ type }) => {
      for (const handle of handlers[type] ?? []) handle();
    },
    onState: (state) => {
      if (state === "signed-out") main.prepend(signedOutNotice());
    },
  }).start();
}

function signedOutNotice() {
  const notice = make("p", "notice", t("You are signed out. Reload the page to sign in."));
  notice.setAttribute("role", "alert");
  return notice;
}

// News of the person's chats, for pages that show several: they tell that something has changed, and not what.

import { ChatSocket } from "./socket.js";

/**
 * Follow the news, on a connection without a chat.
 *
 * @param onSessions - Callback when the list of chats may have changed.
 * @param onActivity - Callback when the activity in the chats may have changed.
 */
export function followListNews({ onSessions = () => {}, onActivity }) {
  const { socket: path } = document.getElementById("main").dataset;
  const handlers = {
    // News from before the connection may be missing.
    ready: [onSessions, onActivity],
    sessions: [onSessions, onActivity],
    activity: [onActivity],
  };
  new ChatSocket(path, {
    after: () => 0,
    onFrame: ({ type }) => {
      for (const handle of handlers[type] ?? []) handle();
    },
    onState: () => {},
  }).start();
}

// Examples on the home page: each begins a new chat, whose page sends the example as its first message.

import { newId } from "./dom.js";
import { unsentChat } from "./new_chat.js";
import { keepUnsent } from "./outbox.js";
import { addressOf } from "./posts.js";
import { ChatStorage } from "./storage.js";

/** Listen for the examples of the agents. */
export function listenForStarters(apps) {
  apps?.addEventListener("click", ({ target }) => {
    const starter = target.closest(".starter");
    if (starter) begin(apps.dataset.person, starter.closest("[data-app]").dataset.app, starter.textContent);
  });
}

// The message travels in the browser's storage: an address with a message in it could be another site's.
function begin(person, app, text) {
  const session = unsentChat(person, app) ?? newId();
  keepUnsent(new ChatStorage({ person, session }, localStorage), {
    id: newId(),
    text,
    replaces: undefined,
    files: [],
  });
  location.assign(addressOf(`chat/${session}/?new=${encodeURIComponent(app)}`));
}

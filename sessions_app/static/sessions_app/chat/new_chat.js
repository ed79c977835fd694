// A chat without a message. New chats with one agent share a draft; unsent files lead back to their chat.

import { ChatStorage } from "./storage.js";

const UNSENT_IN = "unsent in";

/** Return the id of the new chat in which a message or file waits to be sent; null without one. */
export function unsentChat(person, app) {
  return storageOf(person, app).get(UNSENT_IN);
}

export class NewChat {
  #isNew = true;

  /** @param onBegin - Callback when the chat has a message. */
  constructor({ person, session, new: app }, { onBegin }) {
    this.storage = storageOf(person, app);
    this.session = session;
    this.onBegin = onBegin;
  }

  /** Go to the new chat in which an earlier page has left a message that was not sent. Return true if there is one. */
  returnToUnsent() {
    const session = this.storage.get(UNSENT_IN);
    if (!session || session === this.session) return false;
    if (!this.storage.get("files:draft")) this.storage.set(UNSENT_IN, "");
    location.replace(location.href.replace(this.session, session));
    return true;
  }

  /** Remember that a file waits here or a message is on its way: the chat is in no list yet. */
  noteUnsent() {
    if (this.#isNew) this.storage.set(UNSENT_IN, this.session);
  }

  /** Handle the first message: the page's address needs no `?new=` any more. */
  begin() {
    if (!this.#isNew) return;
    this.#isNew = false;
    this.storage.set(UNSENT_IN, "");
    history.replaceState(null, "", location.pathname);
    this.onBegin();
  }
}

function storageOf(person, app) {
  return new ChatStorage({ person, session: `new:${app}` }, localStorage);
}

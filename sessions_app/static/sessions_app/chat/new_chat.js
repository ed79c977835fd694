// A chat that does not exist before its first message or file. Its draft waits for any new chat with the same agent.

import { ChatStorage } from "./storage.js";

const UNSENT_IN = "unsent in";

export class NewChat {
  #isNew = true;

  /** @param onBegin - Callback when the chat exists. */
  constructor({ person, session, new: app }, { onBegin }) {
    this.storage = new ChatStorage({ person, session: `new:${app}` }, localStorage);
    Object.assign(this, { session, onBegin });
  }

  /** Go to the new chat in which an earlier page has left a message that was not sent. Return true if there is one. */
  returnToUnsent() {
    const session = this.storage.get(UNSENT_IN);
    if (!session || session === this.session) return false;
    this.storage.set(UNSENT_IN, "");
    location.replace(location.href.replace(this.session, session));
    return true;
  }

  /** Remember that a message is on its way: it is in no list of chats if it does not arrive. */
  noteMessage() {
    if (this.#isNew) this.storage.set(UNSENT_IN, this.session);
  }

  /** Handle that the chat exists: the page's address needs no `?new=` any more. */
  begin() {
    if (!this.#isNew) return;
    this.#isNew = false;
    this.storage.set(UNSENT_IN, "");
    history.replaceState(null, "", location.pathname);
    this.onBegin();
  }
}

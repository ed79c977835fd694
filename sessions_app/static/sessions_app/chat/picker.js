// Choice of the model that answers, and of another agent for a new chat.

import { ChatStorage } from "./storage.js";

export class Picker {
  /**
   * @param root - The popover with the choices; null without any.
   * @param person - Id of the person whose drafts are kept.
   * @param draft - Return the text to take along to a new chat with another agent.
   */
  constructor(root, { person, draft }) {
    this.root = root;
    root?.addEventListener("change", ({ target }) => {
      const words = target.value ? target.nextElementSibling.textContent : "";
      document.querySelector("#pick .picked-model").textContent = words;
    });
    root?.addEventListener("click", ({ target }) => {
      const { app } = target.closest("[data-app]")?.dataset ?? {};
      const text = app && draft();
      if (text) new ChatStorage({ person, session: `new:${app}` }, localStorage).set("draft", text);
    });
  }

  /** Fields of a message for a model that the server does not know as the choice. */
  get fields() {
    const chosen = this.root?.querySelector("input:checked");
    return chosen && !chosen.defaultChecked ? { model: chosen.value } : {};
  }
}

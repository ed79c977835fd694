// Choice of the model that answers, and of another agent for a new chat.

import { ChatStorage } from "./storage.js";

export class Picker {
  #hasChosen = false;

  /**
   * @param root - The popover with the choices; null without any.
   * @param person - Id of the person whose drafts are kept.
   * @param draft - Return the text to take along to a new chat with another agent.
   */
  constructor(root, { person, draft }) {
    this.root = root;
    root?.addEventListener("change", ({ target }) => {
      this.#hasChosen = true;
      const words = target.value ? target.nextElementSibling.textContent : "";
      document.querySelector("#pick .picked-model").textContent = words;
    });
    root?.addEventListener("click", ({ target }) => {
      const { app } = target.closest("[data-app]")?.dataset ?? {};
      const text = app && draft();
      if (text) new ChatStorage({ person, session: `new:${app}` }, localStorage).set("draft", text);
    });
  }

  /** Fields of a message: the model, once the person has chosen on this page. */
  get fields() {
    return this.#hasChosen ? { model: this.root.querySelector("input:checked").value } : {};
  }
}

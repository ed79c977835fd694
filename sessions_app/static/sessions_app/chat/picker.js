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
      showChoice(target);
    });
    root?.addEventListener("click", ({ target }) => {
      const { app } = target.closest("[data-app]")?.dataset ?? {};
      const text = app && draft();
      if (text) new ChatStorage({ person, session: `new:${app}` }, localStorage).set("draft", text);
    });
  }

  /** Fields of a message: the model that the person has chosen on this page since the last message with a choice. */
  get fields() {
    return this.#hasChosen ? { model: this.root.querySelector("input:checked").value } : {};
  }

  /** Show the choice of a stored message, which may be of another tab. A choice that was not sent yet stays. */
  follow({ adk_model: model }) {
    const input = [...(this.root?.querySelectorAll("input") ?? [])].find(({ value }) => value === model);
    if (!input || (this.#hasChosen && !input.checked)) return;
    this.#hasChosen = false;
    input.checked = true;
    showChoice(input);
  }
}

function showChoice(input) {
  const words = input.value ? input.nextElementSibling.textContent : "";
  document.querySelector("#pick .picked-model").textContent = words;
}

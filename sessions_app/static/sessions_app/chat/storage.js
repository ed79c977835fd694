// The browser's storage: text that is not sent yet, for each person and chat until the person signs out.

const PREFIX = "chat:";

export class ChatStorage {
  static #isFrozen = false;

  /** Write nothing from now on: the sign-in has ended, and another tab may have removed the texts. */
  static freeze() {
    ChatStorage.#isFrozen = true;
  }

  /** @param area - `localStorage` for what all tabs share and what outlives them, `sessionStorage` for one tab. */
  constructor({ person, session }, area) {
    this.area = area;
    this.prefix = `${PREFIX}${person}:${session}:`;
  }

  /** Return the value; null without one. */
  get(name) {
    return this.area.getItem(this.prefix + name);
  }

  /** Keep the value; an empty one is removed. */
  set(name, value) {
    if (ChatStorage.#isFrozen) return;
    try {
      if (value) this.area.setItem(this.prefix + name, value);
      else this.area.removeItem(this.prefix + name);
    } catch (error) {
      console.warn("The browser cannot keep a text or choice:", error); // its storage is full or switched off
    }
  }

  /** Return the names that begin with `start`. */
  names(start) {
    const keys = Object.keys(this.area).filter((key) => key.startsWith(this.prefix + start));
    return keys.map((key) => key.slice(this.prefix.length));
  }
}

/** Remove all unsent texts of this browser when the person signs out. */
export function forgetOnSignOut() {
  for (const form of document.querySelectorAll("form[data-sign-out]")) {
    form.addEventListener("submit", () => {
      ChatStorage.freeze();
      for (const area of [localStorage, sessionStorage]) {
        for (const key of Object.keys(area)) if (key.startsWith(PREFIX)) area.removeItem(key);
      }
    });
  }
}

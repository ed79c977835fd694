// Where a message is written: Enter sends it, the draft outlives the page.

export class Composer {
  #isComposing = false;
  #running = null;
  #key = "";

  /** @param onSend is called with the text; @param onStop when the person wants the answer stopped */
  constructor(form, sessionId, { onSend, onStop }) {
    this.field = form.querySelector("textarea");
    this.sendButton = form.querySelector("#send");
    this.stopButton = form.querySelector("#stop");
    this.draft = `draft:${sessionId}`;
    this.onSend = onSend;
    this.#open(this.draft);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("input", () => this.#changed());
    this.field.addEventListener("compositionstart", () => (this.#isComposing = true));
    this.field.addEventListener("compositionend", () => (this.#isComposing = false));
    this.field.addEventListener("keydown", (event) => this.#onKey(event));
    this.stopButton.addEventListener("click", () => {
      this.stopButton.disabled = true;
      this.field.focus();
      onStop();
    });
    if (matchMedia("(hover: hover)").matches) this.field.focus();
  }

  /** The id of what can be stopped; null when there is nothing. */
  set running(invocationId) {
    if (invocationId === this.#running) return;
    this.#running = invocationId;
    this.stopButton.disabled = false;
    this.#changed();
  }

  /** Writes on something else, kept under a key of its own: what is kept there, or else `text`. The draft waits. */
  write(key, text) {
    this.#open(key, text);
    this.field.focus();
    this.field.setSelectionRange(this.field.value.length, this.field.value.length);
  }

  /** Goes back to the draft and forgets what was written on instead. When `keepsText`, it comes into the draft. */
  writeDraft({ keepsText = false } = {}) {
    const text = this.field.value;
    sessionStorage.removeItem(this.#key);
    this.#open(this.draft);
    if (keepsText) this.field.value = [this.field.value, text].filter(Boolean).join("\n");
    this.#changed();
  }

  /** A stop could not be asked for: it may be tried again. */
  allowStop() {
    this.stopButton.disabled = false;
  }

  /** Nothing can be sent here any more. */
  close() {
    this.field.disabled = true;
    this.running = null;
    this.#changed();
  }

  #open(key, text = "") {
    this.#key = key;
    this.field.value = sessionStorage.getItem(key) ?? text;
    this.#changed();
  }

  #onKey(event) {
    // Safari ends the composition before its Enter arrives; the key code tells it apart.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || this.#isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#send();
  }

  #send() {
    const text = this.field.value.trim();
    if (!text || this.field.disabled) return;
    this.field.value = "";
    this.#changed();
    this.field.focus();
    this.onSend(text);
  }

  #changed() {
    const isEmpty = !this.field.value.trim();
    sessionStorage.setItem(this.#key, this.field.value);
    this.sendButton.disabled = isEmpty || this.field.disabled;
    this.stopButton.hidden = !this.#running;
    this.sendButton.hidden = this.#running !== null && isEmpty;
    if (!CSS.supports("field-sizing", "content")) {
      this.field.style.height = "auto";
      this.field.style.height = `${this.field.scrollHeight}px`;
    }
  }
}

// Form for writing a message. Enter sends it; the browser keeps the draft.

import { moveFocus } from "./dom.js";
import { locale, t } from "./language.js";

const HAS_KEYBOARD = matchMedia("(hover: hover)");

export class Composer {
  #isComposing = false;
  #runningId = null;

  /**
   * @param files - Uploads for the text.
   * @param onSend - Callback with the text and the files of a message to send.
   * @param onStop - Callback for the stop button.
   * @param onProblem - Callback with a sentence for the person.
   */
  constructor(form, storage, { files, onSend, onStop, onProblem }) {
    this.files = files;
    files.onChange = () => this.#refresh();
    this.field = form.querySelector("textarea");
    this.sendButton = form.querySelector("#send");
    this.stopButton = form.querySelector("#stop");
    this.draft = { storage, name: "draft" };
    this.onSend = onSend;
    this.onProblem = onProblem;
    const typed = this.field.value; // before this script has started
    this.open(this.draft);
    if (typed) {
      this.field.value = typed;
      this.#refresh();
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("input", () => this.#refresh());
    this.field.addEventListener("compositionstart", () => (this.#isComposing = true));
    this.field.addEventListener("compositionend", () => (this.#isComposing = false));
    this.field.addEventListener("keydown", (event) => this.#handleKey(event));
    this.stopButton.addEventListener("click", () => {
      this.stopButton.disabled = true;
      this.field.focus();
      onStop();
    });
    if (HAS_KEYBOARD.matches && window === top) this.field.focus(); // not in a frame
  }

  /** Take the focus of a control that disappears; on a touch screen, where a keyboard would open, `place` gets it. */
  takeFocus(place) {
    if (HAS_KEYBOARD.matches) this.field.focus({ preventScroll: true });
    else moveFocus(place);
  }

  /** Set the id of the invocation that the stop button cancels; null hides the button. */
  set running(invocationId) {
    if (invocationId === this.#runningId) return;
    this.#runningId = invocationId;
    this.stopButton.disabled = false;
    this.#refresh();
  }

  /** Show the text of the slot `{ storage, name }`, at first `text` and `files`. The texts of other slots stay. */
  open(slot, text = "", files = []) {
    this.slot = slot;
    this.field.value = slot.storage.get(slot.name) ?? text;
    this.files.open(slot, files);
    this.#refresh();
  }

  /** Move the draft to another storage. */
  moveDraft(storage) {
    for (const name of ["draft", "files:draft"]) this.draft.storage.set(name, "");
    this.draft.storage = storage;
    this.files.update();
  }

  /** Disable the form for good. */
  close() {
    this.running = null;
    for (const control of this.field.form.elements) control.disabled = true;
  }

  #handleKey(event) {
    // Safari ends the composition before its Enter arrives; only key code 229 identifies it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || this.#isComposing || event.keyCode === 229)
      return;
    event.preventDefault();
    this.#send();
  }

  #send() {
    const text = this.field.value.trim().toWellFormed();
    if ((!text && this.files.isEmpty) || this.field.disabled) return;
    if (text.length > Number(this.field.dataset.most)) {
      this.onProblem(this.#tooLong(text.length));
      return;
    }
    const files = this.files.take();
    if (!files) return;
    this.field.value = "";
    this.files.open(this.slot);
    this.#refresh();
    this.field.focus();
    this.onSend(text, files);
  }

  #tooLong(length) {
    return t(
      "The text has {count} characters; a message may have {most}. Cut a part and paste it: it becomes a file.",
      {
        count: length.toLocaleString(locale),
        most: Number(this.field.dataset.most).toLocaleString(locale),
      },
    );
  }

  #refresh() {
    const isEmpty = !this.field.value.trim() && this.files.isEmpty;
    this.slot.storage.set(this.slot.name, this.field.value);
    this.sendButton.disabled = isEmpty || this.field.disabled;
    this.stopButton.hidden = !this.#runningId;
    this.sendButton.hidden = this.#runningId !== null && isEmpty;
    if (!CSS.supports("field-sizing", "content")) {
      this.field.style.height = "auto";
      this.field.style.height = `${this.field.scrollHeight}px`;
    }
  }
}

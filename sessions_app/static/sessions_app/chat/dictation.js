// Dictation by the browser's own speech recognition. The text goes into the message at the caret; nothing is sent.

import { locale, t } from "./language.js";

const PROBLEMS = {
  "not-allowed": t("The browser may not use the microphone here. Allow it in the settings of the browser."),
  "audio-capture": t("There is no microphone."),
  network: t("The browser's speech service cannot be reached. Check the connection."),
  "no-speech": t("Nothing was heard."),
};
PROBLEMS["service-not-allowed"] = PROBLEMS["not-allowed"];

// Its standard name, or that of Chrome and Safari.
const Recognition = Reflect.get(window, "SpeechRecognition") ?? Reflect.get(window, "webkitSpeechRecognition");

export class Dictation {
  #recognition = null;
  #seen = 0; // results so far
  #written = 0; // those that are in the text for good
  #start = 0; // place of the words that may still change
  #end = 0;

  /**
   * @param button - Starts and stops the dictation.
   * @param field - Takes the text.
   * @param announce - Announce a sentence to screen readers.
   * @param onProblem - Callback with a sentence about what failed.
   */
  constructor(button, field, { announce, onProblem }) {
    this.button = button;
    this.field = field;
    this.announce = announce;
    this.onProblem = onProblem;
    field.addEventListener("input", ({ isTrusted }) => isTrusted && this.#goOnFromCaret(this.#seen));
    document.addEventListener("keydown", (event) => this.#stopOnEscape(event), { capture: true });
  }

  /** Start to listen, or stop. */
  toggle() {
    if (this.#recognition) this.#recognition.stop();
    else this.#listen();
  }

  /** Stop to listen; what was said last is dropped. Call this when the message is sent. */
  drop() {
    this.#recognition?.abort();
  }

  #listen() {
    const recognition = new Recognition();
    Object.assign(recognition, { lang: locale, continuous: true, interimResults: true });
    recognition.addEventListener("start", () => this.announce(t("Listening. Press Escape to stop.")));
    recognition.addEventListener("result", ({ results }) => this.#write(results));
    recognition.addEventListener("error", ({ error }) => this.#tell(error));
    recognition.addEventListener("end", () => this.#show(null));
    this.#goOnFromCaret(0);
    this.#show(recognition);
    this.onProblem("");
    try {
      recognition.start();
    } catch {
      this.#tell("");
      this.#show(null);
    }
  }

  #show(recognition) {
    if (this.#recognition && !recognition) this.announce(t("Dictation has ended."));
    this.#recognition = recognition;
    this.button.ariaPressed = String(recognition !== null);
  }

  #tell(error) {
    if (error !== "aborted") this.onProblem(PROBLEMS[error] ?? t("The dictation failed. Try again."));
  }

  // The results after the first `written` ones come behind the caret.
  #goOnFromCaret(written) {
    this.#seen = written;
    this.#written = written;
    this.#start = this.field.selectionStart;
    this.#end = this.field.selectionEnd;
  }

  #write(results) {
    if (!this.#recognition || this.field.disabled) return;
    this.#seen = results.length;
    const heard = [...results].slice(this.#written);
    const settled = heard.filter(({ isFinal }) => isFinal);
    this.#replace(settled);
    if (settled.length) this.#start = this.#end;
    this.#written += settled.length;
    this.#replace(heard.slice(settled.length));
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #replace(results) {
    const before = this.field.value.slice(0, this.#start);
    let text = results.map(([{ transcript }]) => transcript).join("");
    if (!before || /\s$/.test(before)) text = text.trimStart();
    else if (text && !/^\s/.test(text)) text = ` ${text}`;
    this.field.setRangeText(text, this.#start, this.#end, "end");
    this.#end = this.#start + text.length;
  }

  // Escape has other meanings on the page while nobody dictates.
  #stopOnEscape(event) {
    if (event.key !== "Escape" || !this.#recognition) return;
    event.preventDefault();
    event.stopPropagation();
    this.#recognition.stop();
  }
}

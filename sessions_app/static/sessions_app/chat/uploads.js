// Files of the message that is being written. `upload_files.js` sends and shows them, and is loaded with the first file.

import { load } from "./parts.js";

const importFiles = () => import("./upload_files.js");

export class Uploads {
  #lists = new Map(); // by the name of their text's slot: that of the draft, or of an edited message
  #slot = null;
  #hadFiles = false;

  /** Callback after a file was added, removed or uploaded. */
  onChange = () => {};

  /**
   * @param region - List element with the limits and addresses as data.
   * @param onProblem - Callback with a sentence for the person.
   * @param onStored - Callback when the server has stored a file, before `onChange`.
   */
  constructor(region, { onProblem, onStored }) {
    this.region = region;
    this.onProblem = onProblem;
    this.onStored = onStored;
  }

  get items() {
    return this.#lists.get(this.#slot?.name) ?? [];
  }

  get isEmpty() {
    return this.items.length === 0;
  }

  /** Show the files of a text; `files` are the files of an edited message. */
  open(slot, files = []) {
    this.#slot = slot;
    this.#hadFiles = files.length > 0; // then an empty list is stored
    if (!this.#lists.has(slot.name)) {
      const stored = JSON.parse(slot.storage.get(`files:${slot.name}`) ?? "null");
      this.#lists.set(
        slot.name,
        (stored ?? files).map((file) => ({ ...file, state: "ready" })),
      );
    }
    this.update();
  }

  /** Return the files to send, and forget them; null, with a sentence for the person, when one is not ready. */
  take() {
    if (this.items.every(({ state }) => state === "ready")) return this.forget();
    load(importFiles).then(({ refuse }) => refuse(this));
    return null;
  }

  /** Return the files, and forget them. */
  forget() {
    const files = this.items;
    this.#slot.storage.set(`files:${this.#slot.name}`, "");
    this.#lists.delete(this.#slot.name);
    return files;
  }

  /** Upload files; show a sentence about the files beyond a limit. */
  async add(files) {
    const { upload } = await load(importFiles);
    upload(this, files);
  }

  /** Upload a text that is too long for the message as a file. */
  async addText(text) {
    const { uploadText } = await load(importFiles);
    uploadText(this, text);
  }

  /** Take a file out of the list. */
  remove(item) {
    this.#lists.set(
      this.#slot.name,
      this.items.filter((other) => other !== item),
    );
    return this.update();
  }

  /** Keep the files that are ready, and show all. Call this when a file has changed. */
  async update() {
    const ready = this.items.filter(({ state }) => state === "ready");
    const stored = ready.map(({ name, version, facts, url, preview, beginning, isImage, isSent }) => ({
      name,
      version,
      facts,
      url,
      preview,
      beginning,
      isImage,
      isSent,
    }));
    this.#slot.storage.set(`files:${this.#slot.name}`, stored.length || this.#hadFiles ? JSON.stringify(stored) : "");
    this.region.hidden = this.isEmpty;
    this.onChange();
    if (this.isEmpty) this.region.replaceChildren();
    else (await load(importFiles)).show(this);
  }
}

/** Offer the ways to attach files: the button, dropping them on the page, and pasting them or a long text. */
export function listenForFiles(uploads, { button, input, field }) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    uploads.add([...input.files]);
    input.value = "";
    field.focus();
  });
  takeDroppedFiles(uploads, field);
  field.addEventListener("paste", (event) => {
    const { files } = event.clipboardData;
    if (!files.length || event.clipboardData.getData("text/plain")) return;
    event.preventDefault();
    uploads.add([...files]);
  });
  field.addEventListener("beforeinput", (event) => attachLongText(event, uploads, field));
}

// A pasted or dropped text that makes the message too long becomes a file. The field itself has no limit: a browser
// would cut the text without a word.
function attachLongText(event, uploads, field) {
  if (!event.inputType.startsWith("insertFrom")) return;
  const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
  const kept = field.value.length - (field.selectionEnd - field.selectionStart);
  if (kept + text.length <= Number(field.dataset.most)) return;
  event.preventDefault();
  uploads.addText(text);
}

// Upload files that are dropped anywhere, and show while they are dragged that the page takes them.
function takeDroppedFiles(uploads, field) {
  const hasFiles = (event) => !field.disabled && event.dataTransfer?.types.includes("Files");
  const setDropping = (isDropping) => document.body.toggleAttribute("data-dropping", isDropping);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    setDropping(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && setDropping(false));
  addEventListener("drop", (event) => {
    setDropping(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    uploads.add([...event.dataTransfer.files]);
    field.focus();
  });
}

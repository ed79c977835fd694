// Files of the message that is being written. Each is uploaded at once; the message names it by name and version.

import { make, makeButton } from "./dom.js";

const KILOBYTE = 1024;
const MEGABYTE = KILOBYTE * KILOBYTE;

export class Uploads {
  #lists = new Map(); // by the name of the slot of the text that they belong to: the draft, or an edited message
  #slot = null;

  /** Callback after a file was added, removed or uploaded. */
  onChange = () => {};

  /**
   * @param region - List element with the limits and addresses as data.
   * @param onProblem - Callback with a sentence for the person.
   */
  constructor(region, { onProblem }) {
    Object.assign(this, { region, onProblem });
    this.status = document.getElementById("uploads-status");
  }

  get isEmpty() {
    return this.#items.length === 0;
  }

  /** Show the files of a text; `files` are those that an edited message has already. */
  open(slot, files = []) {
    this.#slot = slot;
    if (!this.#lists.has(slot.name)) {
      const stored = JSON.parse(slot.storage.get(`files:${slot.name}`) ?? "null");
      this.#lists.set(slot.name, (stored ?? files).map((file) => ({ ...file, state: "ready" })));
    }
    this.#render();
  }

  /** Return the files to send, and forget them; null, with a sentence for the person, when one is not ready. */
  take() {
    const waiting = this.#items.find(({ state }) => state !== "ready");
    if (waiting) {
      const isFailed = waiting.state === "failed";
      this.onProblem(isFailed ? "Remove the file that was not uploaded, or try again." : "Wait until the files are uploaded.");
      return null;
    }
    const files = this.#items;
    this.#forget();
    return files;
  }

  /** Forget the files of an edit that ended; with `keepsFiles`, add them to the files of `slot`. */
  close(slot, { keepsFiles = false } = {}) {
    const files = this.#items;
    this.#forget();
    this.open(slot);
    if (keepsFiles) this.#items.push(...files);
    else files.forEach((file) => this.#discard(file));
    this.#render();
  }

  /** Upload files; those beyond a limit are refused in words. */
  add(files) {
    this.onProblem("");
    for (const file of files) {
      const problem = this.#problemOf(file);
      if (problem) this.onProblem(problem);
      else this.#upload({ name: file.name, file, facts: inWords(file.size) });
    }
  }

  get #items() {
    return this.#lists.get(this.#slot?.name) ?? [];
  }

  #problemOf({ name, size, type }) {
    const { mostBytes, mostFiles, accept } = this.region.dataset;
    if (this.#items.length >= mostFiles) return `A message may have ${mostFiles} files. “${name}” was not attached.`;
    if (size === 0) return `“${name}” is empty, or a folder. Choose another file.`;
    if (size > mostBytes) return `“${name}” has ${inWords(size)}; the limit is ${inWords(mostBytes)}.`;
    const isAccepted = (pattern) => pattern === type || (pattern.endsWith("/*") && type.startsWith(pattern.slice(0, -1)));
    if (accept && type && !accept.split(",").some(isAccepted)) return `“${name}” is of the type ${type}. Files may be: ${accept}.`;
    return "";
  }

  #upload(item) {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("csrfmiddlewaretoken", csrfToken());
    form.append("file", item.file);
    Object.assign(item, { state: "uploading", request, progress: 0 });
    if (!this.#items.includes(item)) this.#items.push(item);
    request.upload.onprogress = ({ loaded, total }) => {
      item.progress = loaded / total;
      item.bar?.setAttribute("value", item.progress);
    };
    request.onload = () => this.#finish(item, request);
    request.onerror = () => this.#fail(item, "No connection.");
    request.open("POST", this.region.dataset.url);
    request.send(form);
    this.#render();
  }

  #finish(item, request) {
    const answer = readJson(request.responseText);
    if (request.status !== 201) {
      this.#fail(item, answer.error ?? "The server did not take the file. Reload the page, then try again.");
      return;
    }
    const { name, version, facts, url, is_image: isImage } = answer;
    Object.assign(item, { name, version, facts, url, isImage, state: "ready", file: null });
    this.status.textContent = `${name} is attached.`;
    this.#render();
  }

  #fail(item, reason) {
    Object.assign(item, { state: "failed", reason });
    this.#render();
    this.onProblem(`“${item.name}” was not uploaded. ${reason}`);
  }

  #remove(item) {
    this.#lists.set(this.#slot.name, this.#items.filter((other) => other !== item));
    this.#discard(item);
    this.status.textContent = `${item.name} was removed.`;
    this.onProblem("");
    this.#render();
    (this.region.querySelector("button") ?? document.getElementById("message")).focus();
  }

  // Tell the server, which keeps what a message refers to.
  #discard(item) {
    if (item.state !== "ready") {
      item.request.abort();
    } else if (!item.isSent) {
      const form = new FormData();
      for (const [name, value] of Object.entries({ csrfmiddlewaretoken: csrfToken(), name: item.name, version: item.version })) form.append(name, value);
      fetch(this.region.dataset.removeUrl, { method: "POST", body: form }).catch(() => {});
    }
  }

  #forget() {
    this.#slot.storage.set(`files:${this.#slot.name}`, "");
    this.#lists.delete(this.#slot.name);
  }

  #render() {
    const ready = this.#items.filter(({ state }) => state === "ready");
    const stored = ready.map(({ name, version, facts, url, isImage, isSent }) => ({ name, version, facts, url, isImage, isSent }));
    this.#slot.storage.set(`files:${this.#slot.name}`, stored.length ? JSON.stringify(stored) : "");
    this.region.replaceChildren(...this.#items.map((item) => this.#makeChip(item)));
    this.region.hidden = this.isEmpty;
    this.onChange();
  }

  #makeChip(item) {
    const chip = make("li", "upload");
    chip.dataset.state = item.state;
    if (item.isImage) chip.append(Object.assign(document.createElement("img"), { src: item.url, alt: "" }));
    const words = make("span", "upload-words");
    words.append(make("span", "upload-name", item.name), make("small", "", item.state === "failed" ? "Not uploaded" : item.facts));
    chip.append(words);
    if (item.state === "uploading") chip.append((item.bar = makeBar(item)));
    if (item.state === "failed") chip.append(makeButton("plain", "Retry", () => this.#upload(item)));
    const remove = makeButton("icon", "×", () => this.#remove(item));
    remove.setAttribute("aria-label", `Remove ${item.name}`);
    chip.append(remove);
    return chip;
  }
}

/** Offer the ways to attach files: the button, dropping them on the page, and pasting. */
export function listenForFiles(uploads, { button, input, field, offer }) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    uploads.add([...input.files]);
    input.value = "";
    field.focus();
  });
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
  field.addEventListener("paste", (event) => handlePaste(event, uploads, field, offer));
}

function handlePaste(event, uploads, field, offer) {
  const text = event.clipboardData.getData("text/plain");
  offer.hidden = true;
  if (!text && event.clipboardData.files.length) {
    event.preventDefault();
    uploads.add([...event.clipboardData.files]);
    return;
  }
  const kept = field.value.length - (field.selectionEnd - field.selectionStart);
  if (kept + text.length <= field.maxLength) return;
  event.preventDefault();
  const close = () => {
    offer.hidden = true;
    field.focus();
  };
  const attach = makeButton("primary", "Attach as a file", () => {
    close();
    uploads.add([new File([text], "pasted.txt", { type: "text/plain" })]);
  });
  const count = (number) => number.toLocaleString();
  const words = `The text has ${count(text.length)} characters; a message may have ${count(field.maxLength)}.`;
  offer.replaceChildren(make("p", "", words), attach, makeButton("plain", "Cancel", close));
  offer.hidden = false;
}

function makeBar(item) {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", `Upload of ${item.name}`);
  bar.setAttribute("value", item.progress);
  return bar;
}

function csrfToken() {
  return document.querySelector("[name=csrfmiddlewaretoken]").value;
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // the page of a sign-in or a proxy
  }
}

function inWords(bytes) {
  if (bytes < KILOBYTE) return `${bytes} bytes`;
  return bytes < MEGABYTE ? `${(bytes / KILOBYTE).toFixed(1)} KB` : `${(bytes / MEGABYTE).toFixed(1)} MB`;
}

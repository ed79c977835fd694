// Sent messages that are not yet in the log. They survive a reload and are resent until the server acknowledges them.

import { make, makeButton, newId } from "./dom.js";
import { hasEnded } from "./invocations.js";

const ACKNOWLEDGE_TIMEOUT = 10000;

export class Outbox {
  #entries = new Map();

  /**
   * @param deliver - Send {id, text, replaces, files}; return true when it was sent.
   * @param isShown - Return true when the log shows the message of an invocation.
   */
  constructor(region, sessionId, { deliver, isShown }) {
    Object.assign(this, { region, deliver, isShown });
    this.storageKey = `outbox:${sessionId}`;
    for (const { id, text, replaces, files } of JSON.parse(sessionStorage.getItem(this.storageKey) ?? "[]")) this.#add(id, text, replaces, files);
  }

  /** Send a new message with uploaded files; `replaces` is the invocation whose message it replaces. */
  send(text, replaces, files) {
    const entry = this.#add(newId(), text, replaces, files.map(({ name, version }) => ({ name, version })));
    this.#save();
    this.#deliver(entry);
  }

  /** Send all entries again under the same ids after a reconnect; the server ignores duplicates. */
  resend() {
    for (const entry of this.#entries.values()) this.#deliver(entry);
  }

  /** Handle an invocation frame: the server has the message, so it is not resent. */
  acknowledge({ id, client_id: clientId, status, text }) {
    const entry = this.#entries.get(clientId) ?? (status === "queued" && text ? this.#add(clientId, text) : null);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.invocationId = id;
    this.#save();
    this.#setNote(entry, status === "queued" ? "Waiting for its turn" : "Sending…");
    if (this.isShown(id) || hasEnded(status)) this.#remove(entry);
  }

  /** Remove the entry of an invocation whose message is now in the log. */
  reconcile(invocationId) {
    for (const entry of this.#entries.values()) {
      if (entry.invocationId === invocationId && this.isShown(invocationId)) this.#remove(entry);
    }
  }

  /** Show why the server refused a message. Return true when the message is in the outbox. */
  refuse(clientId, reason) {
    const entry = this.#entries.get(clientId);
    if (entry) this.#fail(entry, `Not sent: ${reason}`);
    return Boolean(entry);
  }

  /** Return the text of a message; null when it is not in the outbox. */
  textOf(clientId) {
    return this.#entries.get(clientId)?.text ?? null;
  }

  #add(id, text, replaces, files = []) {
    const row = make("article", "event person waiting");
    row.dataset.clientId = id;
    const note = make("p", "on-the-way");
    if (text) row.append(make("div", "said", text));
    if (files.length) row.append(make("p", "attached", files.map(({ name }) => name).join(", ")));
    row.append(note);
    this.region.append(row);
    const entry = { id, text, replaces, files, row, note, timer: 0, invocationId: null };
    this.#entries.set(id, entry);
    this.#fail(entry, "Not sent");
    return entry;
  }

  #deliver(entry) {
    clearTimeout(entry.timer);
    if (!this.deliver({ id: entry.id, text: entry.text, replaces: entry.replaces, files: entry.files })) {
      this.#fail(entry, "Not sent");
      return;
    }
    this.#setNote(entry, "Sending…");
    entry.timer = setTimeout(() => this.#fail(entry, "Not sent"), ACKNOWLEDGE_TIMEOUT);
  }

  #setNote(entry, text) {
    entry.note.replaceChildren(text);
  }

  #fail(entry, reason) {
    clearTimeout(entry.timer);
    const remove = makeButton("plain", "Discard", () => this.#remove(entry));
    const retry = makeButton("plain", "Retry", () => this.#deliver(entry));
    entry.note.replaceChildren(make("span", "error", reason), retry, remove);
  }

  #remove(entry) {
    clearTimeout(entry.timer);
    entry.row.remove();
    this.#entries.delete(entry.id);
    this.#save();
  }

  #save() {
    const unsent = [...this.#entries.values()].map(({ id, text, replaces, files }) => ({ id, text, replaces, files }));
    sessionStorage.setItem(this.storageKey, JSON.stringify(unsent));
  }
}

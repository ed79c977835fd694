// Messages that are written but not yet in the log. They survive a reload and are sent until the server has them.

import { make, makeButton, newId } from "./dom.js";
import { hasEnded } from "./invocations.js";

const PATIENCE = 10000;

export class Outbox {
  #entries = new Map();

  /**
   * @param deliver sends {id, text, replaces} and says whether it could
   * @param isShown says whether the log has the message of an invocation
   */
  constructor(region, sessionId, { deliver, isShown }) {
    Object.assign(this, { region, deliver, isShown });
    this.key = `outbox:${sessionId}`;
    for (const { id, text, replaces } of JSON.parse(sessionStorage.getItem(this.key) ?? "[]")) this.#add(id, text, replaces);
  }

  /** Sends a new message; with `replaces` in place of the one that began that invocation. */
  send(text, replaces) {
    const entry = this.#add(newId(), text, replaces);
    this.#save();
    this.#deliver(entry);
  }

  /** There is a connection: sends everything again under the same ids; the server tells what it already has. */
  resend() {
    for (const entry of this.#entries.values()) this.#deliver(entry);
  }

  /** The server told what it does with a message: it has it, so it need not be sent again. */
  acknowledge({ id, client_id: clientId, status, text }) {
    const entry = this.#entries.get(clientId) ?? (status === "queued" && text ? this.#add(clientId, text) : null);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.invocationId = id;
    this.#save();
    this.#say(entry, status === "queued" ? "Waiting for its turn" : "Sending…");
    if (this.isShown(id) || hasEnded(status)) this.#remove(entry);
  }

  /** The invocation's message may be in the log now. */
  reconcile(invocationId) {
    for (const entry of this.#entries.values()) {
      if (entry.invocationId === invocationId && this.isShown(invocationId)) this.#remove(entry);
    }
  }

  /** The server did not take the message. True when it was one of these. */
  refuse(clientId, reason) {
    const entry = this.#entries.get(clientId);
    if (entry) this.#fail(entry, `Not sent: ${reason}`);
    return Boolean(entry);
  }

  /** What a message says; null when it is not here. */
  textOf(clientId) {
    return this.#entries.get(clientId)?.text ?? null;
  }

  #add(id, text, replaces) {
    const row = make("article", "event person waiting");
    row.dataset.clientId = id;
    const note = make("p", "on-the-way");
    row.append(make("div", "said", text), note);
    this.region.append(row);
    const entry = { id, text, replaces, row, note, timer: 0, invocationId: null };
    this.#entries.set(id, entry);
    this.#fail(entry, "Not sent");
    return entry;
  }

  #deliver(entry) {
    clearTimeout(entry.timer);
    if (!this.deliver({ id: entry.id, text: entry.text, replaces: entry.replaces })) {
      this.#fail(entry, "Not sent");
      return;
    }
    this.#say(entry, "Sending…");
    entry.timer = setTimeout(() => this.#fail(entry, "Not sent"), PATIENCE);
  }

  #say(entry, text) {
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
    const unsent = [...this.#entries.values()].map(({ id, text, replaces }) => ({ id, text, replaces }));
    sessionStorage.setItem(this.key, JSON.stringify(unsent));
  }
}

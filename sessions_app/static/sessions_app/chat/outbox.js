// Sent messages that are not yet in the log. The browser keeps them and sends them until the server acknowledges them.

import { make, makeButton, newId } from "./dom.js";
import { hasEnded } from "./invocations.js";
import { plural, t } from "./language.js";
import { makeMarked } from "./said.js";

const ACKNOWLEDGE_TIMEOUT = 10000;
const UNSENT = "unsent:";
const MIN_FOR_ALL = 3; // messages from which one button discards them all

/** Keep a message in the browser, for the page of its chat to send. */
export function keepUnsent(storage, { id, text, replaces, files }) {
  storage.set(UNSENT + id, JSON.stringify({ id, text, replaces, files, at: Date.now() }));
}

export class Outbox {
  #entries = new Map();
  #failedCount = make("span", "");
  #forAll = make("p", "on-the-way"); // buttons for all messages that were not sent

  /**
   * @param deliver - Send {id, text, replaces, files}; return true when it was sent.
   * @param isShown - Return true when the log shows the message of an invocation.
   * @param onCancel - Send the cancel request for the invocation of a message that waits for its turn.
   * @param onPress - Callback when a pressed button, which had the focus, disappears.
   */
  constructor(region, storage, { deliver, isShown, onCancel, onPress }) {
    this.region = region;
    this.storage = storage;
    this.deliver = deliver;
    this.isShown = isShown;
    this.onCancel = onCancel;
    this.onPress = onPress;
    this.#forAll.append(
      this.#failedCount,
      this.#makeButton(t("Retry all"), () => this.#forFailed((entry) => this.#deliver(entry))),
      this.#makeButton(t("Discard all"), () => this.#forFailed((entry) => this.#remove(entry))),
    );
    const unsent = storage.names(UNSENT).map((name) => JSON.parse(storage.get(name)));
    for (const { id, text, replaces, files } of unsent.sort((a, b) => a.at - b.at)) {
      const entry = this.#add(id, text, replaces, files);
      entry.isKept = true;
      this.#expectAnswer(entry); // the page is about to connect, and sends it then
    }
  }

  /** Send a new message with uploaded files; `replaces` is the invocation whose message it replaces. */
  send(text, replaces, files) {
    const entry = this.#add(
      newId(),
      text,
      replaces,
      files.map(({ name, version }) => ({ name, version })),
    );
    keepUnsent(this.storage, entry);
    // The storage may be full or forbidden. Only an entry that was stored can be found discarded by another tab.
    entry.isKept = this.#isStored(entry);
    this.#deliver(entry);
  }

  /** Send all entries again under the same ids after a reconnect, except those that another tab has discarded. */
  resend() {
    for (const entry of [...this.#entries.values()]) {
      if (entry.isKept && !this.#isStored(entry)) this.#remove(entry);
      else this.#deliver(entry);
    }
  }

  /** Handle an invocation frame: the server has the message, so it is not resent. */
  acknowledge({ id, client_id: clientId, status, text }) {
    const entry = this.#entries.get(clientId) ?? (status === "queued" && text ? this.#add(clientId, text) : null);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.invocationId = id;
    entry.isKept = false;
    this.storage.set(UNSENT + clientId, "");
    entry.isQueued = status === "queued";
    this.#setSending(entry);
    if (this.isShown(id) || hasEnded(status)) this.#remove(entry);
    this.#showPlaces();
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
    if (entry) this.#fail(entry, t("Not sent: {reason}", { reason }));
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
    if (text) row.append(makeMarked("div", "said", text));
    if (files.length) row.append(makeMarked("p", "attached", files.map(({ name }) => name).join(", ")));
    row.append(note);
    this.region.append(row);
    const entry = {
      id,
      text,
      replaces,
      files,
      row,
      note,
      timer: 0,
      invocationId: null,
      isKept: false,
      isQueued: false,
      isFailed: false,
    };
    this.#entries.set(id, entry);
    this.#fail(entry, t("Not sent"));
    return entry;
  }

  #deliver(entry) {
    clearTimeout(entry.timer);
    const { id, text, replaces, files } = entry;
    if (!this.deliver({ id, text, replaces, files })) return this.#fail(entry, t("Not sent"));
    this.#expectAnswer(entry);
  }

  #expectAnswer(entry) {
    this.#setSending(entry);
    entry.timer = setTimeout(() => this.#fail(entry, t("Not sent")), ACKNOWLEDGE_TIMEOUT);
  }

  #fail(entry, reason) {
    clearTimeout(entry.timer);
    const remove = this.#makeButton(t("Discard"), () => this.#remove(entry));
    const retry = this.#makeButton(t("Retry"), () => this.#deliver(entry));
    entry.note.replaceChildren(make("span", "not-sent", reason), retry, remove);
    entry.isFailed = true;
    this.#showForAll();
  }

  get #failed() {
    return [...this.#entries.values()].filter((entry) => entry.isFailed);
  }

  #forFailed(act) {
    for (const entry of this.#failed) act(entry);
  }

  #showForAll() {
    const { length } = this.#failed;
    this.#failedCount.textContent = plural("{count} message was not sent", "{count} messages were not sent", length);
    if (length < MIN_FOR_ALL) this.#forAll.remove();
    else if (!this.#forAll.isConnected || this.#forAll.nextSibling) this.region.append(this.#forAll);
  }

  #setSending(entry) {
    entry.isFailed = false;
    entry.note.replaceChildren(t("Sending…"));
    this.#showForAll();
  }

  // The first queued message is next; the others tell how many are before them.
  #showPlaces() {
    const queued = [...this.#entries.values()].filter((entry) => entry.isQueued);
    for (const [index, entry] of queued.entries()) {
      const place = index
        ? plural("Waiting for its turn, after {count} more", "Waiting for its turn, after {count} more", index)
        : t("Waiting for its turn");
      entry.note.replaceChildren(
        place,
        this.#makeButton(t("Cancel"), () => this.onCancel(entry.invocationId)),
      );
    }
  }

  #makeButton(text, onClick) {
    return makeButton("plain", text, () => {
      onClick();
      this.onPress();
    });
  }

  #isStored(entry) {
    return this.storage.get(UNSENT + entry.id) !== null;
  }

  #remove(entry) {
    clearTimeout(entry.timer);
    entry.row.remove();
    this.#entries.delete(entry.id);
    this.storage.set(UNSENT + entry.id, "");
    this.#showForAll();
  }
}

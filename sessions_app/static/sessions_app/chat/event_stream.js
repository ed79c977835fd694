// Loaded where websockets are blocked: server-sent events, and a request for each frame.

import { t } from "./language.js";
import { postFrame } from "./posts.js";

/** Has the members of a WebSocket that ChatSocket uses. */
export class EventStream {
  static #isRemembered = false; // that websockets are blocked

  onopen = null;
  onmessage = null;
  onclose = null;
  /** @type {number} */
  readyState = WebSocket.OPEN;
  checkTimeout = 6000; // the server answers no "ping", but sends a frame every five seconds
  #source = null;
  #noticed = new Set(); // ids of the invocations in notices of the stream since the last request was sent
  #sending = Promise.resolve(); // one request after the other keeps the order of the frames

  /** @param url - URL of the websocket, which changes when a new chat begins. */
  constructor(url) {
    this.url = url;
    // Later, like a WebSocket: the caller sets `onopen` after the constructor.
    queueMicrotask(() => this.onopen?.());
  }

  send(text) {
    const frame = JSON.parse(text);
    if (frame.type === "hello") this.#listen(frame);
    else if (frame.type !== "ping")
      this.#sending = this.#sending.then(() => this.#post(frame.id, text)).catch(() => this.#end());
  }

  close() {
    this.readyState = WebSocket.CLOSED;
    this.#source?.close();
  }

  // Read what follows the last event on the page. The browser's own reconnecting would ask for older events again.
  #listen({ after, list }) {
    this.#source?.close();
    const address = new URL(this.url.pathname.replace("/ws/", "/sse/") + this.url.search, location.href);
    address.searchParams.set("after", after);
    if (list) address.searchParams.set("list", "1");
    this.#source = new EventSource(address);
    this.#source.onmessage = (message) => {
      this.#rememberBlocked();
      this.#note(JSON.parse(message.data));
      this.onmessage?.(message);
    };
    this.#source.onerror = () => this.#end();
    this.#source.addEventListener("close", ({ data }) => this.#end(Number(data)));
  }

  async #post(id, body) {
    if (this.readyState === WebSocket.CLOSED) return;
    this.#noticed.clear();
    const { frames } = document.getElementById("main").dataset;
    const response = await postFrame(frames + this.url.search, body);
    if (response.status === 204) return;
    if (response.headers.get("Content-Type") === "application/json") this.#receive(await response.json());
    else if (response.status === 403) this.#refuse(id);
    else this.#end();
  }

  // The CSRF token of the page does not fit any more.
  #refuse(id) {
    const message = t("This page is too old to send anything. Reload it.");
    this.onmessage?.({ data: JSON.stringify({ type: "error", in_reply_to: id, message }) });
  }

  // A notice that came over the stream first is newer than the reply to the message, also if the server has greeted the
  // page again since then.
  #receive(frame) {
    if (frame.type !== "invocation" || !this.#noticed.has(frame.id)) this.onmessage?.({ data: JSON.stringify(frame) });
  }

  #note({ type, id }) {
    if (type === "invocation") this.#noticed.add(id);
  }

  #end(code) {
    if (this.readyState === WebSocket.CLOSED) return;
    this.close();
    this.onclose?.({ code });
  }

  // Let the next pages of the tab begin with an event stream, until one of them finds that a websocket answers again.
  #rememberBlocked() {
    if (EventStream.#isRemembered) return;
    EventStream.#isRemembered = true;
    if (sessionStorage.isSocketBlocked) tryWebSocket(this.url);
    else sessionStorage.isSocketBlocked = "true";
  }
}

function tryWebSocket(url) {
  const socket = new WebSocket(url);
  socket.onopen = () => socket.send(JSON.stringify({ v: 1, type: "ping" }));
  socket.onmessage = () => {
    delete sessionStorage.isSocketBlocked;
    socket.close();
  };
}

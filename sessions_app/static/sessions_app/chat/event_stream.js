// Loaded where websockets are blocked: server-sent events, and a request for each frame.

import { t } from "./language.js";

/** Let the socket of the chat try event streams and websockets in turn. */
export function change(socket) {
  socket.Transport = socket.Transport === WebSocket ? EventStream : WebSocket;
}

// Has the members of a WebSocket that ChatSocket uses.
class EventStream {
  readyState = WebSocket.OPEN;
  checkTimeout = 6000; // the server answers no "ping", but sends a frame every five seconds
  #source = null;
  #told = new Set(); // ids of the invocations that the stream has told of since the last "ready" frame
  #sending = Promise.resolve(); // one request after the other keeps the order of the frames

  /** @param url - URL of the websocket, which changes when a new chat begins. */
  constructor(url) {
    this.url = url;
    queueMicrotask(() => this.onopen?.());
  }

  send(text) {
    const frame = JSON.parse(text);
    if (frame.type === "hello") this.#listen(frame);
    else if (frame.type !== "ping") this.#sending = this.#sending.then(() => this.#post(frame.id, text)).catch(() => this.#end());
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
    if (list) address.searchParams.set("list", 1);
    this.#source = new EventSource(address);
    this.#source.onmessage = (message) => {
      rememberBlocked(this.url);
      this.#note(JSON.parse(message.data));
      this.onmessage?.(message);
    };
    this.#source.onerror = () => this.#end();
    this.#source.addEventListener("close", ({ data }) => this.#end(Number(data)));
  }

  async #post(id, body) {
    if (this.readyState === WebSocket.CLOSED) return;
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const { frames } = document.getElementById("main").dataset;
    const response = await fetch(frames + this.url.search, { method: "POST", headers: { "X-CSRFToken": token }, body });
    if (response.status === 204) return;
    if (response.headers.get("Content-Type") === "application/json") this.#receive(await response.json());
    else if (response.status === 403) this.onmessage?.({ data: JSON.stringify({ type: "error", in_reply_to: id, message: t("This page is too old to send anything. Reload it.") }) });
    else this.#end();
  }

  // A notice that came over the stream first is newer than the reply to the message.
  #receive(frame) {
    if (frame.type !== "invocation" || !this.#told.has(frame.id)) this.onmessage?.({ data: JSON.stringify(frame) });
  }

  #note({ type, id }) {
    if (type === "ready") this.#told.clear();
    if (type === "invocation") this.#told.add(id);
  }

  #end(code) {
    if (this.readyState === WebSocket.CLOSED) return;
    this.close();
    this.onclose?.({ code });
  }
}

let isRemembered = false;

// Let the next pages of the tab begin with an event stream, until one of them finds that a websocket answers again.
function rememberBlocked(url) {
  if (isRemembered) return;
  isRemembered = true;
  if (sessionStorage.isSocketBlocked) tryWebSocket(url);
  else sessionStorage.isSocketBlocked = true;
}

function tryWebSocket(url) {
  const socket = new WebSocket(url);
  socket.onopen = () => socket.send(JSON.stringify({ v: 1, type: "ping" }));
  socket.onmessage = () => {
    delete sessionStorage.isSocketBlocked;
    socket.close();
  };
}

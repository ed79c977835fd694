// Reconnecting websocket: exponential backoff, and a heartbeat that detects a silent connection.

const VERSION = 1;
const FIRST_RETRY_DELAY = 500;
const LONGEST_RETRY_DELAY = 8000;
const HEARTBEAT_INTERVAL = 10000;
const QUICK_CHECK_TIMEOUT = 3000;
const FINAL_STATES = { 4401: "signed-out", 4404: "gone" };
const TOO_MANY_CONNECTIONS = 4429;

export class ChatSocket {
  #socket = null;
  #attempts = 0;
  #isSilent = false;
  #retryTimer = 0;
  #hasEnded = false;

  /**
   * @param path - Path of the websocket on this host.
   * @param after - Return the seq of the last event on the page.
   * @param onFrame - Callback for every frame.
   * @param onState - Callback with connected, reconnecting, offline, signed-out or gone.
   */
  constructor(path, { after, onFrame, onState }) {
    this.url = new URL(path, location.href);
    this.url.protocol = this.url.protocol.replace("http", "ws");
    Object.assign(this, { after, onFrame, onState });
  }

  get isReady() {
    return this.state === "connected";
  }

  start() {
    this.#connect();
    setInterval(() => this.#sendHeartbeat(), HEARTBEAT_INTERVAL);
    addEventListener("online", () => this.#checkConnection());
    addEventListener("offline", () => this.#checkConnection());
    addEventListener("pageshow", (event) => event.persisted && this.#checkConnection());
    document.addEventListener("visibilitychange", () => document.hidden || this.#checkConnection());
  }

  /** Send a frame. Return false without a connection. */
  send(type, fields = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ v: VERSION, type, ...fields }));
    return true;
  }

  /** Request all events after the last one on the page. */
  hello() {
    this.send("hello", { after: this.after(), list: true });
  }

  /** Connect anew: on one connection the server sends an event only once. */
  reconnect() {
    this.#disconnect();
  }

  /** Connect at once instead of waiting for the next attempt. */
  retry() {
    this.#checkConnection();
  }

  #connect() {
    clearTimeout(this.#retryTimer);
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    this.#isSilent = false;
    socket.onopen = () => this.hello();
    socket.onmessage = (message) => this.#receive(JSON.parse(message.data));
    socket.onclose = (close) => this.#disconnect(close.code);
  }

  #receive(frame) {
    this.#isSilent = false;
    if (frame.type === "ready") {
      this.#attempts = 0;
      this.#setState("connected");
    }
    this.onFrame(frame);
  }

  #disconnect(code) {
    this.#socket.onclose = this.#socket.onmessage = this.#socket.onopen = null;
    this.#socket.close();
    if (FINAL_STATES[code]) {
      this.#hasEnded = true;
      this.#setState(FINAL_STATES[code]);
      return;
    }
    this.#setState(navigator.onLine ? "reconnecting" : "offline");
    const limit = code === TOO_MANY_CONNECTIONS ? LONGEST_RETRY_DELAY : Math.min(LONGEST_RETRY_DELAY, FIRST_RETRY_DELAY * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retryTimer = setTimeout(() => this.#connect(), limit * (0.5 + Math.random() / 2));
  }

  #sendHeartbeat() {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#isSilent) {
      this.#disconnect();
      return;
    }
    this.#isSilent = true;
    this.send("ping");
  }

  // The network or the page changed: keep the connection only if it answers soon.
  #checkConnection() {
    if (this.#hasEnded) return;
    if (this.#socket.readyState === WebSocket.OPEN) {
      const checked = this.#socket;
      this.#isSilent = true;
      this.send("ping");
      setTimeout(() => this.#socket === checked && this.#isSilent && this.#disconnect(), QUICK_CHECK_TIMEOUT);
    } else if (this.#socket.readyState === WebSocket.CLOSED || this.#socket.readyState === WebSocket.CLOSING) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  #setState(state) {
    this.state = state;
    this.onState(state);
  }
}

// Reconnecting websocket: exponential backoff, and a heartbeat that detects a silent connection. An event stream where
// websockets are blocked.

const VERSION = 1;
const FIRST_RETRY_DELAY = 500;
const LONGEST_RETRY_DELAY = 8000;
const HEARTBEAT_INTERVAL = 10000;
const QUICK_CHECK_TIMEOUT = 3000;
const FINAL_STATES = { 4401: "signed-out", 4404: "gone" };
const TOO_MANY_CONNECTIONS = 4429;
const ABNORMAL_CLOSURE = 1006; // also that of a socket that was refused
const READY_TIMEOUT = 6000;
const MOST_REFUSALS = 2;
const BLOCKED = "websocket blocked"; // in the tab's storage, so that its next pages do not wait

export class ChatSocket {
  #socket = null;
  #attempts = 0;
  #isSilent = false;
  #retryTimer = 0;
  #hasEnded = false;
  #hasBeenReady = false;
  #refusals = 0;
  #EventStream = null;

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
    if (sessionStorage.getItem(BLOCKED)) this.#useEventStream().then(() => this.#connect());
    else this.#connect();
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
    const socket = new (this.#EventStream ?? WebSocket)(this.url);
    this.#socket = socket;
    if (!this.#hasBeenReady && !this.#EventStream) setTimeout(() => this.#giveUp(socket), READY_TIMEOUT);
    this.#isSilent = false;
    socket.onopen = () => this.hello();
    socket.onmessage = (message) => this.#receive(JSON.parse(message.data));
    socket.onclose = (close) => this.#disconnect(close.code);
  }

  #receive(frame) {
    this.#isSilent = false;
    if (frame.type === "ready") {
      this.#attempts = 0;
      if (!this.#hasBeenReady) this.#EventStream?.remember(BLOCKED, this.url);
      this.#hasBeenReady = true;
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
    if (!this.#hasBeenReady && (code ?? ABNORMAL_CLOSURE) === ABNORMAL_CLOSURE) this.#noteRefusal();
    this.#setState(navigator.onLine ? "reconnecting" : "offline");
    const limit = code === TOO_MANY_CONNECTIONS ? LONGEST_RETRY_DELAY : Math.min(LONGEST_RETRY_DELAY, FIRST_RETRY_DELAY * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retryTimer = setTimeout(() => this.#connect(), limit * (0.5 + Math.random() / 2));
  }

  // A page whose connections were never ready tries websockets and event streams in turn.
  #noteRefusal() {
    this.#refusals += 1;
    if (this.#refusals % MOST_REFUSALS) return;
    if (this.#EventStream) this.#EventStream = null;
    else this.#useEventStream();
  }

  async #useEventStream() {
    const module = await import("./event_stream.js").catch(() => null); // the server is away as well
    this.#EventStream = module?.EventStream;
  }

  // Nothing answers: something between browser and server swallows the socket.
  #giveUp(socket) {
    if (this.#hasBeenReady || this.#socket !== socket || socket.readyState > WebSocket.OPEN) return;
    this.#refusals = MOST_REFUSALS - 1;
    this.#disconnect();
  }

  #sendHeartbeat() {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
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
    if (this.#socket?.readyState === WebSocket.OPEN) {
      const checked = this.#socket;
      this.#isSilent = true;
      this.send("ping");
      setTimeout(() => this.#socket === checked && this.#isSilent && this.#disconnect(), checked.checkTimeout ?? QUICK_CHECK_TIMEOUT);
    } else if (this.#socket?.readyState > WebSocket.OPEN) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  #setState(state) {
    this.state = state;
    this.onState(state);
  }
}

// Reconnecting websocket: exponential backoff, and a heartbeat that detects a silent connection. An event stream takes
// its place if websockets are blocked.

const VERSION = 1;
const FIRST_RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 8000;
const HEARTBEAT_INTERVAL = 10000;
const QUICK_CHECK_TIMEOUT = 3000;
const READY_TIMEOUT = 6000;
const FINAL_STATES = { 4401: "signed-out", 4404: "gone" };
const TOO_MANY_CONNECTIONS = 4429;

export class ChatSocket {
  #isStream = false; // an event stream takes the place of the websocket
  #socket = null;
  #number = 0; // of the latest connection, which grows as well when that is given up
  #attempts = 0;
  #wasReady = false;
  #heard = 0; // count of frames and disconnects
  #heardAtPing = -1;
  #retryTimer = 0;
  #hasEnded = false;
  #queued = [];

  /**
   * @param path - Path of the websocket on this host.
   * @param after - Return the seq of the last event on the page.
   * @param onFrame - Callback for every frame.
   * @param onState - Callback with connected, reconnecting, offline, signed-out or gone.
   */
  constructor(path, { after, onFrame, onState }) {
    this.url = new URL(path, location.href);
    this.url.protocol = this.url.protocol.replace("http", "ws");
    // What the server sends fits the page, also after another language was chosen in another tab.
    this.url.searchParams.set("language", document.documentElement.lang);
    this.after = after;
    this.onFrame = onFrame;
    this.onState = onState;
  }

  get isReady() {
    return this.state === "connected";
  }

  start() {
    this.#isStream = Boolean(sessionStorage.isSocketBlocked);
    this.#connect();
    setInterval(() => this.#sendHeartbeat(), HEARTBEAT_INTERVAL);
    for (const type of ["online", "offline"]) addEventListener(type, () => this.retry());
    addEventListener("pageshow", ({ persisted }) => persisted && this.retry()); // out of the browser's cache
    addEventListener("visibilitychange", () => document.hidden || this.retry());
  }

  /** Send a frame. Return false without a connection. */
  send(type, fields = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ v: VERSION, type, ...fields }));
    return true;
  }

  /** Send a frame now, or with the next connection. */
  sendOrQueue(type, fields) {
    if (!this.send(type, fields)) this.#queued.push([type, fields]);
  }

  /** Request all events after the last one on the page. */
  hello() {
    this.send("hello", { after: this.after(), list: true });
  }

  /** Connect again: on one connection the server sends an event only once. */
  reconnect() {
    this.#disconnect();
  }

  /** Keep the connection only if it answers soon; without one, connect now. */
  retry() {
    if (this.#hasEnded) return;
    const heard = this.#heard;
    if (this.send("ping")) {
      setTimeout(() => this.#heard === heard && this.#disconnect(), this.#socket.checkTimeout ?? QUICK_CHECK_TIMEOUT);
    } else if (this.#socket?.readyState > WebSocket.OPEN) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  // A network that blocks websockets may swallow the handshake, and a slow one may hold back the script of the event
  // stream. Until a connection was ready once, each gets more time than the one before; a stream, whose script is to be
  // loaded, gets more than a websocket.
  async #connect() {
    clearTimeout(this.#retryTimer);
    this.#number += 1;
    const number = this.#number;
    const isLatest = () => number === this.#number;
    const patience = READY_TIMEOUT * (this.#attempts + (this.#isStream ? 2 : 1));
    if (!this.#wasReady) setTimeout(() => isLatest() && !this.#wasReady && this.#disconnect(), patience);
    const Transport = this.#isStream ? await loadEventStream() : WebSocket;
    if (!isLatest()) return;
    const socket = new Transport(this.url);
    this.#socket = socket;
    socket.onopen = () => this.hello();
    socket.onmessage = (message) => this.#receive(JSON.parse(message.data));
    socket.onclose = (close) => this.#disconnect(close.code);
  }

  #receive(frame) {
    this.#heard += 1;
    if (frame.type === "ready") {
      this.#attempts = 0;
      this.#wasReady = true;
      this.#setState("connected");
      for (const [type, fields] of this.#queued.splice(0)) this.sendOrQueue(type, fields);
    }
    this.onFrame(frame);
  }

  #disconnect(code) {
    this.#heard += 1;
    this.#number += 1;
    // `close` may wait for the server: without handlers, a late event of this socket cannot disturb the next one.
    Object.assign(this.#socket ?? {}, { onclose: null, onmessage: null, onopen: null });
    this.#socket?.close();
    if (FINAL_STATES[code]) {
      this.#hasEnded = true;
      this.#setState(FINAL_STATES[code]);
      return;
    }
    // Refused twice, or not ready in time: something may block websockets. If one was ready before, nothing does.
    if (!this.#wasReady && (!code || this.#attempts % 2)) this.#isStream = !this.#isStream;
    this.#setState(navigator.onLine ? "reconnecting" : "offline");
    let delay = Math.min(MAX_RETRY_DELAY, FIRST_RETRY_DELAY * 2 ** this.#attempts);
    if (code === TOO_MANY_CONNECTIONS) delay = MAX_RETRY_DELAY;
    this.#attempts += 1;
    // A random part: after a restart of the server its tabs should not connect all at the same moment.
    this.#retryTimer = setTimeout(() => this.#connect(), delay * (0.5 + Math.random() / 2));
  }

  #sendHeartbeat() {
    // Nothing came since the last ping: the connection is dead, although the browser may not notice for minutes.
    if (this.#heardAtPing === this.#heard) this.#disconnect();
    else if (this.send("ping") || this.#socket?.readyState === WebSocket.CONNECTING) this.#heardAtPing = this.#heard;
  }

  #setState(state) {
    this.state = state;
    this.onState(state);
  }
}

// Without a server the module cannot be loaded either.
async function loadEventStream() {
  const module = await import("./event_stream.js").catch(() => null);
  return module?.EventStream ?? WebSocket;
}

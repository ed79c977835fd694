// A websocket that comes back: it reconnects with backoff and notices when the other side has gone silent.

const VERSION = 1;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 8000;
const HEARTBEAT = 10000;
const QUICK_CHECK = 3000;
const FINAL = { 4401: "signed-out", 4404: "gone" };
const TOO_MANY = 4429;

export class ChatSocket {
  #socket = null;
  #attempts = 0;
  #isSilent = false;
  #retry = 0;
  #hasEnded = false;

  /**
   * @param path of the websocket on this host
   * @param after gives the number of the last event that the page has
   * @param onFrame is called with every frame
   * @param onState is called with connected, reconnecting, offline, signed-out or gone
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
    setInterval(() => this.#beat(), HEARTBEAT);
    addEventListener("online", () => this.#wake());
    addEventListener("offline", () => this.#wake());
    addEventListener("pageshow", (event) => event.persisted && this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
  }

  /** Sends a frame; false when there is no connection to send it by. */
  send(type, fields = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ v: VERSION, type, ...fields }));
    return true;
  }

  /** Asks for everything that the page does not have. */
  hello() {
    this.send("hello", { after: this.after() });
  }

  #connect() {
    clearTimeout(this.#retry);
    const socket = new WebSocket(this.url);
    this.#socket = socket;
    this.#isSilent = false;
    socket.onopen = () => this.hello();
    socket.onmessage = (message) => this.#receive(JSON.parse(message.data));
    socket.onclose = (close) => this.#lose(close.code);
  }

  #receive(frame) {
    this.#isSilent = false;
    if (frame.type === "ready") {
      this.#attempts = 0;
      this.#tell("connected");
    }
    this.onFrame(frame);
  }

  #lose(code) {
    this.#socket.onclose = this.#socket.onmessage = this.#socket.onopen = null;
    this.#socket.close();
    if (FINAL[code]) {
      this.#hasEnded = true;
      this.#tell(FINAL[code]);
      return;
    }
    this.#tell(navigator.onLine ? "reconnecting" : "offline");
    const limit = code === TOO_MANY ? LONGEST_DELAY : Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retry = setTimeout(() => this.#connect(), limit * (0.5 + Math.random() / 2));
  }

  #beat() {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#isSilent) {
      this.#lose();
      return;
    }
    this.#isSilent = true;
    this.send("ping");
  }

  // Something changed around the page: trust the connection only when it answers soon.
  #wake() {
    if (this.#hasEnded) return;
    if (this.#socket.readyState === WebSocket.OPEN) {
      const asked = this.#socket;
      this.#isSilent = true;
      this.send("ping");
      setTimeout(() => this.#socket === asked && this.#isSilent && this.#lose(), QUICK_CHECK);
    } else if (this.#socket.readyState === WebSocket.CLOSED || this.#socket.readyState === WebSocket.CLOSING) {
      this.#attempts = 0;
      this.#connect();
    }
  }

  #tell(state) {
    this.state = state;
    this.onState(state);
  }
}

// What the server is doing for this chat.

const OPEN = new Set(["queued", "running"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);

export function hasEnded(status) {
  return ENDED.has(status);
}

export class Invocations {
  #statuses = new Map();

  /** The id of the invocation that runs, or else of the one that waits longest; null when there is none. */
  get current() {
    const open = [...this.#statuses].filter(([, status]) => OPEN.has(status));
    return (open.find(([, status]) => status === "running") ?? open[0])?.[0] ?? null;
  }

  take({ id, status }) {
    this.#statuses.set(id, status);
  }

  /** Takes what the server says runs now. True when something that was open here has ended meanwhile. */
  replaceOpen(current) {
    const open = [...this.#statuses].filter(([id, status]) => OPEN.has(status) && id !== current?.id);
    for (const [id] of open) this.#statuses.delete(id);
    if (current) this.take(current);
    return open.length > 0;
  }
}

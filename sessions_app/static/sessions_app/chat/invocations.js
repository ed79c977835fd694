// What the server is doing for this chat.

const ACTIVE = new Set(["queued", "running"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);

export function hasEnded(status) {
  return ENDED.has(status);
}

export class Invocations {
  #statuses = new Map();

  /** The id of the invocation that runs, or else of the one that waits longest; null when there is none. */
  get current() {
    const active = [...this.#statuses].filter(([, status]) => ACTIVE.has(status));
    return (active.find(([, status]) => status === "running") ?? active[0])?.[0] ?? null;
  }

  take({ id, status }) {
    this.#statuses.set(id, status);
  }

  /** Takes what the server says runs now. True when something that was active here has ended meanwhile. */
  replaceActive(current) {
    const active = [...this.#statuses].filter(([id, status]) => ACTIVE.has(status) && id !== current?.id);
    for (const [id] of active) this.#statuses.delete(id);
    if (current) this.take(current);
    return active.length > 0;
  }
}

// Statuses of the invocations of this chat.

const OPEN = new Set(["queued", "running"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);

export function hasEnded(status) {
  return ENDED.has(status);
}

export class Invocations {
  #statuses = new Map();

  /** Id of the running invocation, or else of the oldest queued invocation; null without either. */
  get current() {
    const open = [...this.#statuses].filter(([, status]) => OPEN.has(status));
    return (open.find(([, status]) => status === "running") ?? open[0])?.[0] ?? null;
  }

  update({ id, status }) {
    this.#statuses.set(id, status);
  }

  /** Replace the open invocations by the current one. Return true when others have ended in the meantime. */
  replaceOpen(current) {
    const open = [...this.#statuses].filter(([id, status]) => OPEN.has(status) && id !== current?.id);
    for (const [id] of open) this.#statuses.delete(id);
    if (current) this.update(current);
    return open.length > 0;
  }
}

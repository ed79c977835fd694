// Statuses of the invocations of this chat.

const ACTIVE = new Set(["queued", "running"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);

export const hasEnded = (status) => ENDED.has(status);

export class Invocations {
  /** Statuses by id. */
  statuses = new Map();

  /** Id of the running invocation, or else of the oldest queued invocation; null without either. */
  get current() {
    const active = [...this.statuses].filter(([, status]) => ACTIVE.has(status));
    return (active.find(([, status]) => status === "running") ?? active[0])?.[0] ?? null;
  }

  /** The current invocation's id and status; null without one. */
  get currentWithStatus() {
    const id = this.current;
    return id && { id, status: this.statuses.get(id) };
  }

  update({ id, status }) {
    this.statuses.set(id, status);
  }

  /** Replace the active invocations by the current one. Return true when others have ended in the meantime. */
  replaceActive(current) {
    const active = [...this.statuses].filter(([id, status]) => ACTIVE.has(status) && id !== current?.id);
    for (const [id] of active) this.statuses.delete(id);
    if (current) this.update(current);
    return active.length > 0;
  }
}

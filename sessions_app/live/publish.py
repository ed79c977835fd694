"""Publication of commits, the only way by which they reach open tabs, and of notices from threads.

Code on the event loop gives its notices to `Hub.publish_notice` itself.

An execution, a rewind and a compaction give each of their commits to `publish_committed`. They get a commit from the
`on_commit` callback of the session service, not from the events yielded by the runner, for three reasons:

- The runner does not yield every commit (the person's message, a rewind, a summary), and a plugin may replace an event
  on its way out.
- Only the append knows the `seq`, the stored JSON and the created jobs.
- The callback runs after the commit and before the agent resumes (a sub-agent of a parallel agent, too). So an open
  tab gets stored events only, in the order of the log.
"""

import logging
from collections.abc import Iterable
from uuid import UUID

from sessions_app.live.hub import Hub
from sessions_app.live.notices import Notice, job_notice
from sessions_app.live.process import live
from sessions_app.models import ToolJob
from sessions_app.process import threads
from sessions_app.store.session_service import CommittedEvent

logger = logging.getLogger(__name__)


def publish_committed(
    hub: Hub, committed: CommittedEvent, *, jobs: Iterable[ToolJob] = (), rewound_from: int | None = None
) -> None:
    """Publish a committed event and the jobs created with it. Never raises or waits.

    Args:
        rewound_from: for a rewind, `seq` of the first undone event.
    """
    session_id = committed.session_id
    seq = committed.seq
    # A failure must not stop the agent: the event is stored, and open tabs read it from PostgreSQL.
    try:
        hub.publish_event(committed, rewound_from)
        for job in jobs:
            hub.publish_notice(session_id, job_notice(job))
    except Exception:
        logger.exception(
            "Event %s of session %s was not shown live",
            seq,
            session_id,
            extra={"session_id": str(session_id)},
        )


def publish_notice_from_thread(session_id: UUID, notice: Notice) -> None:
    """Publish a notice from a thread without an event loop."""

    async def publish() -> None:
        live().hub.publish_notice(session_id, notice)

    threads.run(publish())

"""Publication of a running invocation: its commits, its growing texts and the ends of its calls, to the open tabs.

Commits come from the session service, by its `on_commit`; see `live.publish`. Partial events come from the stream of
the runner and are never committed. Their publisher also makes the stream pause, because a model that sends many at
once does not yield to the event loop, and a late event loop should begin other invocations first.
"""

import asyncio
import logging

from runtime.events.calls import parts_of
from runtime.events.event import Event as RuntimeEvent
from runtime.run_config import CallEnd
from sessions_app.jobs.staging import created_job
from sessions_app.live.hub import Hub
from sessions_app.live.notices import call_notice
from sessions_app.live.publish import publish_committed
from sessions_app.live.streamed_text import StreamKey, TextChunk
from sessions_app.process import celery_dispatch
from sessions_app.store.session_service import CommittedEvent
from sessions_app.store.sql.leases import Claim

logger = logging.getLogger(__name__)
LATE_SECONDS = 0.01
"""Lateness of the event loop, in seconds, above which an execution pauses after each partial event."""
MAX_PAUSE_SECONDS = 0.1
PAUSE_FACTOR = 10
"""Length of a pause as a multiple of the lateness."""
PARTIALS_IN_A_ROW = 16
"""Number of partial events before other tasks run."""


class RunPublisher:
    """Publishes what a claimed invocation does."""

    def __init__(self, claim: Claim, hub: Hub) -> None:
        self._claim = claim
        self._hub = hub
        self._partials = 0

    def publish_commit(self, committed: CommittedEvent) -> None:
        """Publish a committed event, and send its jobs to the broker."""
        jobs = [created_job(committed.session_id, staged) for staged in committed.jobs]
        publish_committed(self._hub, committed, jobs=jobs)
        for job in jobs:
            if job.run_at is None:  # The sweep sends a delayed job when it is due.
                celery_dispatch.offer_job_in_background(job.pk, job.task_name)

    def publish_partial(self, event: RuntimeEvent) -> None:
        """Publish the texts of a partial event."""
        claim = self._claim
        for part in parts_of(event):
            if part.text:
                # Not the event's invocation id, which may be the id of the answered call's invocation.
                stream = StreamKey(
                    claim.lease_token, claim.invocation_id, event.id, event.author, bool(part.thought)
                )
                self._hub.publish_text(claim.session_id, stream, part.text)

    async def let_others_run(self) -> None:
        """Pause after a partial event while the event loop is late: other invocations can begin."""
        self._partials += 1
        if self._hub.lateness > LATE_SECONDS:
            await asyncio.sleep(min(PAUSE_FACTOR * self._hub.lateness, MAX_PAUSE_SECONDS))
        elif self._partials % PARTIALS_IN_A_ROW == 0:
            await asyncio.sleep(0)

    def publish_call_end(self, end: CallEnd) -> None:
        """Publish the end of a call. Never raises."""
        # A failure here must not stop the answer of the tool.
        try:
            self._hub.publish_notice(self._claim.session_id, call_notice(end))
        except Exception:
            logger.exception("The end of call %s was not shown live", end.call.id)

    def uncommitted_texts(self) -> list[TextChunk]:
        """Return the texts that the invocation has streamed and not committed."""
        texts = []
        for chunk in self._hub.texts(self._claim.session_id):
            if chunk.stream.invocation_id == self._claim.invocation_id and chunk.text.strip():
                texts.append(chunk)
        return texts

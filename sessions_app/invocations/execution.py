"""One claimed invocation, from its message to its end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any

from runtime import types
from runtime.agents.routing import reason_not_resumable
from runtime.agents.run_config import RunConfig, StreamingMode
from runtime.errors import SessionNotFoundError
from runtime.events.calls import call_ids, events_of_invocation, pending_calls
from runtime.events.event import Event
from runtime.runners import Runner
from runtime.sessions.base_session_service import GetSessionConfig
from runtime.sessions.session import Session
from sessions_app import celery_dispatch
from sessions_app.agent_registry import get_app
from sessions_app.codec import storable
from sessions_app.conf import conf
from sessions_app.db import leases
from sessions_app.db.leases import Claim
from sessions_app.errors import CannotGoOnError, LimitExceededError
from sessions_app.history.event_marks import metadata_of
from sessions_app.invocations.closing_events import begun_as, closing_events, resumed_event, without_failures
from sessions_app.invocations.outcome import COMPLETED, WAITING, Outcome
from sessions_app.invocations.usage import Spending, model_calls
from sessions_app.jobs.staging import created_job, staged_jobs, staging
from sessions_app.live.frames import EventNews, event_frame
from sessions_app.live.hub import Hub
from sessions_app.live.notices import job_notice
from sessions_app.live.streamed_text import StreamKey, TextChunk
from sessions_app.models import InvocationStatus
from sessions_app.rendering import render_event
from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.memory_service import DjangoMemoryService
from sessions_app.services.session_service import CommittedEvent, DjangoSessionService

logger = logging.getLogger(__name__)

EXCESS = {
    "person": "As many of your messages as may be answered at once are being answered already. "
    "Wait until one of them is complete, then send this again.",
    "app": "As many people as can be answered at once are being answered already. Send this again in a moment.",
}
"""By which limit on invocations at once a claim exceeds."""


class Execution:
    """Runs a claim's message through its app's Runner and tells the hub."""

    def __init__(self, claim: Claim, hub: Hub) -> None:
        self.claim = claim
        self._hub = hub
        self._goes_on = (claim.attempts > 1 or claim.is_retried) and not claim.is_cancelled
        self._sessions = DjangoSessionService(
            lease_token=claim.lease_token,
            on_commit=self._publish,
            staged_jobs=staged_jobs,
            preloaded=claim.preloaded,
            view=self._without_failures if self._goes_on else None,
        )
        self._conf = conf().of_app(claim.app_name)
        self._events: list[Event] = []
        self._spending = Spending(self._conf)
        self._model_calls = 0

    async def run(self) -> Outcome:
        """Run the invocation to its end. What the agent raises comes out here.

        Raises:
            LimitExceededError: it is one too many at once, took longer, or used more, than the site allows.
            LlmCallsLimitExceededError: it asked the model more often.
            CannotGoOnError: an earlier attempt was interrupted, and its agents cannot be resumed.
        """
        if self.claim.excess:
            raise LimitExceededError(EXCESS[self.claim.excess])
        limit = self._conf.invocation_seconds
        timeout = asyncio.timeout(limit)
        try:
            with staging():
                async with timeout:
                    await (self._go_on() if self._goes_on else self._begin())
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise LimitExceededError(
                f"This took longer than {limit:.0f} seconds, so it was stopped. Ask for less at once."
            ) from error
        return self._outcome()

    async def _begin(self) -> None:
        message = types.Content.model_validate(self.claim.message)
        await self._consume(invocation_id=self.claim.invocation_id, new_message=message)

    async def _go_on(self) -> None:
        """Continue what an earlier attempt left, from its events (spec R1)."""
        claim = self.claim
        if claim.attempts > self._conf.invocation_attempts:
            raise CannotGoOnError(f"it was interrupted {claim.attempts - 1} times")
        session = await self._session()
        begun = begun_as(claim.invocation_id, claim.message, session.events)
        if begun is None:
            await self._begin()
            return
        events = events_of_invocation(session.events, begun.invocation_id)
        root = get_app(claim.app_name).root_agent
        problem = reason_not_resumable(root, events)
        if problem:
            raise CannotGoOnError(problem)
        self._events = list(events)
        if not claim.is_retried:
            since = events[next(index for index, event in enumerate(events) if event is begun) :]
            self._spending, self._model_calls = Spending(self._conf, since), model_calls(root, since)
        was_complete = events[-1].is_final_response() and events[-1].author != "user"
        if claim.attempts > 1 and not was_complete:
            await self._sessions.append_event(session, resumed_event(events, claim.lease_token))
        await self._consume(invocation_id=begun.invocation_id)

    async def _consume(self, **run: Any) -> None:
        """Run, streaming what is partial and keeping what is not."""
        claim = self.claim
        runner = Runner(
            app=get_app(claim.app_name),
            session_service=self._sessions,
            artifact_service=DjangoArtifactService(),
            memory_service=DjangoMemoryService(),
            compacts=False,
        )
        config = RunConfig(
            streaming_mode=StreamingMode.SSE,
            max_llm_calls=self._conf.invocation_model_calls,
            llm_calls_before=self._model_calls,
            custom_metadata=metadata_of(claim.client_id),
        )
        events = runner.run_async(
            user_id=str(claim.user_id), session_id=claim.session_key, run_config=config, **run
        )
        async with aclosing(events):
            async for event in events:
                if event.partial:
                    self._stream(event)
                else:
                    self._note(event)

    async def close_log(self, outcome: Outcome) -> None:
        """Record an end that the agent did not write itself: the text so far, open calls, the reason."""
        session = await self._session()
        for event in closing_events(self.claim, session.events, self._growing(), outcome):
            await self._sessions.append_event(session, event)

    async def settle_waiting(self) -> None:
        """The invocations whose calls this one has answered wait no more, however it ended itself."""
        if not self._answers_calls():
            return
        events = (await self._session()).events
        waiting = pending_calls(events)
        still = {event.invocation_id for event in events if waiting.keys() & call_ids(event)}
        await leases.settle_waiting(self.claim.session_id, sorted(still))

    async def compact(self) -> None:
        """Sum up what is due (spec R4), after the end and without the lease: the next message need not wait."""
        claim = self.claim
        sessions = DjangoSessionService(on_commit=self._publish)
        runner = Runner(app=get_app(claim.app_name), session_service=sessions)
        await runner.compact_async(
            user_id=str(claim.user_id), session_id=claim.session_key, invocation_id=claim.invocation_id
        )

    async def _session(self) -> Session:
        claim = self.claim
        session = await self._sessions.get_session(
            app_name=claim.app_name,
            user_id=str(claim.user_id),
            session_id=claim.session_key,
            config=GetSessionConfig(without_superseded=True),
        )
        if session is None:
            raise SessionNotFoundError(f"Session {claim.session_key!r} is gone: it was deleted meanwhile.")
        return session

    def _without_failures(self, events: list[Event]) -> list[Event]:
        """How an earlier attempt failed is no answer, and nothing that the model said."""
        return without_failures(begun_as(self.claim.invocation_id, self.claim.message, events), events)

    def _growing(self) -> list[TextChunk]:
        chunks = self._hub.texts(self.claim.session_id)
        return [f for f in chunks if f.stream.invocation_id == self.claim.invocation_id and f.text.strip()]

    def _publish(self, committed: CommittedEvent) -> None:
        """Tell those who watch. It is stored by now: what goes wrong here must not end the invocation."""
        try:
            self._publish_event(committed)
        except Exception:
            logger.exception("Event %s of %s was not shown live", committed.seq, committed.session_id)

    def _publish_event(self, committed: CommittedEvent) -> None:
        session_id, seq, event = committed.session_id, committed.seq, committed.event
        frame = ""
        if self._hub.watchers(session_id):
            frame = event_frame(seq, committed.body, render_event(session_id, seq, event))
        self._hub.publish_event(session_id, EventNews(seq, event.id, frame))
        for job in (created_job(session_id, staged) for staged in committed.jobs):
            self._hub.publish_notice(session_id, job_notice(job))
            if job.run_at is None:
                celery_dispatch.send_job_soon(job.pk, job.task_name)

    def _stream(self, event: Event) -> None:
        for part in (event.content.parts or []) if event.content else []:
            if part.text:
                invocation_id = self.claim.invocation_id  # the event's own may be that of the call it answers
                is_thought = bool(part.thought)
                stream = StreamKey(self.claim.lease_token, invocation_id, event.id, event.author, is_thought)
                self._hub.publish_text(self.claim.session_id, stream, part.text)

    def _note(self, event: Event) -> None:
        """Keep what decides on the outcome, and on whether the invocation may go on."""
        self._events.append(event)
        self._spending.add(event)

    def _answers_calls(self) -> bool:
        return any("functionResponse" in part for part in self.claim.message.get("parts", []))

    def _outcome(self) -> Outcome:
        last = self._events[-1] if self._events else None
        if last is not None and last.error_code:
            message = last.error_message or "The model could not answer."
            return Outcome(InvocationStatus.FAILED, storable(last.error_code[:64]), storable(message))
        return WAITING if pending_calls(self._events) else COMPLETED

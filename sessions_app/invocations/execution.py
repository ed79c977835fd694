"""One claimed invocation, from its message to its end."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass

from runtime import types
from runtime.agents.run_config import RunConfig, StreamingMode
from runtime.engine.abort import seal_event
from runtime.events.event import Event
from runtime.runners import Runner
from sessions_app import dispatch, hot_path
from sessions_app.hot_path import Claim
from sessions_app.live.hub import Hub
from sessions_app.live.text import Fragment
from sessions_app.models import InvocationStatus, ToolJob
from sessions_app.notices import job_notice
from sessions_app.protocol import EventNews, event_frame
from sessions_app.registry import get_app
from sessions_app.rendering import render_event
from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.session_service import CommittedEvent, DjangoSessionService
from sessions_app.services.staging import forget_staged, staged_jobs

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How an invocation ended; the message is for the person."""

    status: str
    error_code: str = ""
    error_message: str = ""


COMPLETED = Outcome(InvocationStatus.COMPLETED)
WAITING = Outcome(InvocationStatus.WAITING)
STOPPED = Outcome(InvocationStatus.CANCELLED, "CANCELLED", "Stopped.")
RESTARTED = Outcome(
    InvocationStatus.FAILED,
    "INTERRUPTED",
    "The server was restarted before this answer was complete. What was said so far is kept; send the message again "
    "for the rest.",
)


class Execution:
    """Runs a claim's message through its app's Runner and tells the hub."""

    def __init__(self, claim: Claim, hub: Hub) -> None:
        self.claim = claim
        self._hub = hub
        self._sessions = DjangoSessionService(
            lease_token=claim.lease_token, on_commit=self._publish, staged_jobs=staged_jobs
        )
        self._error: Event | None = None
        self._waiting: set[str] = set()

    async def run(self) -> Outcome:
        """Run the invocation to its end. What the agent raises comes out here."""
        claim = self.claim
        runner = Runner(
            app=get_app(claim.app_name),
            session_service=self._sessions,
            artifact_service=DjangoArtifactService(),
        )
        events = runner.run_async(
            user_id=str(claim.user_id),
            session_id=claim.session_key,
            new_message=types.Content.model_validate(claim.message),
            invocation_id=claim.invocation_id,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        try:
            async with aclosing(events):
                async for event in events:
                    if event.partial:
                        self._stream(event)
                    else:
                        self._note(event)
        finally:
            forget_staged(claim.invocation_id)
        if any("functionResponse" in part for part in claim.message.get("parts", [])):
            await hot_path.settle_waiting(claim.session_id)
        return self._outcome()

    async def close_log(self, outcome: Outcome) -> None:
        """Record an end that the agent did not write itself: the text so far, open calls, the reason."""
        claim = self.claim
        session = await self._sessions.get_session(
            app_name=claim.app_name, user_id=str(claim.user_id), session_id=claim.session_key
        )
        if session is None:
            return
        last_author = next((e.author for e in reversed(session.events) if e.author != "user"), claim.app_name)
        said = [
            _interrupted(fragment.author, fragment.text, fragment.thought) for fragment in self._growing()
        ]
        seal = seal_event(
            session.events, claim.invocation_id, "The call was interrupted; it may have had effects."
        )
        end = None
        if outcome.status == InvocationStatus.FAILED:
            end = Event(
                author=last_author, error_code=outcome.error_code, error_message=outcome.error_message
            )
        elif not said:
            end = Event(author=last_author, interrupted=True)
        for event in [*said, seal, end]:
            if event is not None:
                event.invocation_id = claim.invocation_id
                await self._sessions.append_event(session, event)

    def _growing(self) -> list[Fragment]:
        fragments = self._hub.texts(self.claim.session_id)
        return [f for f in fragments if f.invocation_id == self.claim.invocation_id and f.text.strip()]

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
        for job in committed.jobs:
            self._hub.publish_notice(session_id, job_notice(ToolJob(session_id=session_id, **job)))
            dispatch.send_job_soon(job["id"], job["task_name"])

    def _stream(self, event: Event) -> None:
        for part in (event.content.parts or []) if event.content else []:
            if part.text:
                self._hub.publish_text(
                    self.claim.session_id,
                    event.invocation_id,
                    event.id,
                    event.author,
                    part.text,
                    thought=bool(part.thought),
                )

    def _note(self, event: Event) -> None:
        """Keep what decides on the outcome."""
        self._error = event if event.error_code else None
        self._waiting |= event.long_running_tool_ids or set()

    def _outcome(self) -> Outcome:
        if self._error:
            message = self._error.error_message or "The model could not answer."
            return Outcome(InvocationStatus.FAILED, (self._error.error_code or "")[:64], message)
        return WAITING if self._waiting else COMPLETED


def _interrupted(author: str, text: str, thought: bool) -> Event:
    part = types.Part(text=text, thought=thought or None)
    return Event(author=author, content=types.Content(role="model", parts=[part]), interrupted=True)

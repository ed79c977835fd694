"""Execution: runs a claimed invocation through its app's Runner.

An execution is an attempt. The first attempt sends the message; a later attempt continues from the events in the log
(contract R1). The session service commits each event, and `publishing` shows it and the partial events of the runner's
stream. The execution knows the outcome; `ending` writes it.
"""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import cached_property, partial
from typing import Any

from django.template.defaultfilters import pluralize
from django.utils.translation import gettext_noop

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.routing import reason_not_resumable
from runtime.agents.run_config import RunConfig, StreamingMode
from runtime.apps.app import App
from runtime.errors import SessionNotFoundError, UnknownCallError
from runtime.events.calls import (
    call_ids,
    events_of_invocation,
    has_pending_calls,
    response_ids,
)
from runtime.events.event import Event as RuntimeEvent
from runtime.runners import Runner
from runtime.sessions.base_session_service import GetSessionConfig
from runtime.sessions.session import Session as RuntimeSession
from runtime.valid_text import storable
from sessions_app.agent_apps.registry import get_app
from sessions_app.agent_apps.toolset_use import using
from sessions_app.base import client_ids
from sessions_app.conf import conf
from sessions_app.errors import AgentClosedError, LimitExceededError, NotResumableError
from sessions_app.history.event_marks import RECALLED
from sessions_app.invocations.call_errors import CallErrors
from sessions_app.invocations.changed_agent import check_calls_exist
from sessions_app.invocations.chosen_model import chosen_model
from sessions_app.invocations.closing_events import FailureOrigin, closing_events, resumed_event
from sessions_app.invocations.credentials import decrypt
from sessions_app.invocations.exceeded_limits import error_of
from sessions_app.invocations.message_event import (
    answers_calls,
    find_message_event,
    index_of_message,
    marks_of,
    without_failures,
)
from sessions_app.invocations.outcome import COMPLETED, REWOUND, WAITING, Outcome
from sessions_app.invocations.publishing import RunPublisher
from sessions_app.invocations.usage import InvocationUsage, model_calls
from sessions_app.invocations.waiting_calls import sync_answer_requests, waiting_invocations
from sessions_app.jobs.cancel import end_jobs_of_calls
from sessions_app.jobs.staging import staging, take_staged_jobs
from sessions_app.jobs.wait import stage_wait
from sessions_app.live.hub import Hub
from sessions_app.models import InvocationStatus
from sessions_app.process.process_metrics import count_take_over
from sessions_app.secrets.error_detail import masked
from sessions_app.sessions.agent_access import closed_agents
from sessions_app.store.artifact_service import DjangoArtifactService
from sessions_app.store.credential_service import DjangoCredentialService
from sessions_app.store.memory_service import DjangoMemoryService
from sessions_app.store.model_calls import ModelCallLog
from sessions_app.store.session_service import DjangoSessionService, Writer
from sessions_app.store.sql import leases
from sessions_app.store.sql.leases import Claim
from sessions_app.store.sql.usage import Used

logger = logging.getLogger(__name__)


class Execution:
    """Runs a claim, and measures its use."""

    def __init__(self, claim: Claim, hub: Hub) -> None:
        self.claim = claim
        self._publisher = RunPublisher(claim, hub)
        self.began_at = time.time()
        self._call_errors = CallErrors()
        # A cancelled invocation is only ended, and its end must see the interrupted events of earlier attempts.
        self._may_resume = (claim.attempts > 1 or claim.is_retried) and not claim.is_cancelled
        self._model_call_log = ModelCallLog(claim.session_id, hides_failures=self._may_resume)
        writer = Writer(
            lease_token=claim.lease_token,
            staged_jobs=take_staged_jobs,
            staged_errors=self._call_errors.take,
            model_calls=self._model_call_log,
            on_commit=self._publisher.publish_commit,
        )
        self._sessions = DjangoSessionService(
            writer,
            preloaded=claim.preloaded,
            view=self._without_failures if self._may_resume else None,
        )
        self._conf = conf().of_app(claim.app_name)
        self._events: list[RuntimeEvent] = []
        self._usage = InvocationUsage(self._conf)
        self._model_calls = 0
        self._closed_agents: list[BaseAgent] = []
        self._origin = FailureOrigin()

    @cached_property
    def app(self) -> App:
        """The app of the session. A reload of the agents does not change it."""
        return get_app(self.claim.app_name)

    @property
    def used(self) -> Used:
        """Tokens and cost of the invocation so far, earlier attempts included."""
        return self._usage.used

    async def run(self) -> Outcome:
        """Run the invocation to its end. Exceptions of the agent propagate.

        Raises:
            LimitExceededError: the invocation exceeds a limit: on invocations at once, the use of a day, or the time,
                tokens or cost of an invocation.
            LlmCallsLimitExceededError: the invocation exceeds the limit on model calls.
            NotResumableError: an earlier attempt was interrupted, and its agents cannot be resumed.
            AgentClosedError: the session's user may not use the app.
            AgentChangedError: the message answers a call that the changed agents cannot make any more.
        """
        if self.claim.attempts > 1:
            count_take_over()
        if self.claim.refused_by:
            raise error_of(self.claim.refused_by)
        self._closed_agents = await closed_agents(self.claim.user_id, self.claim.app_name)
        limit = self._conf.invocation_seconds
        timeout = asyncio.timeout(limit)
        try:
            with using(self.app), staging():
                async with timeout:
                    if answers_calls(self.claim.message):
                        session = await self._load_session()
                        await check_calls_exist(self.claim, self.app, session.events)
                    if self._may_resume:
                        await self._resume()
                    else:
                        await self._run_message()
        except UnknownCallError as error:
            # A rewind cancels the answers that it finds in the queue. This one was queued while the rewind ran.
            if not client_ids.is_answer(self.claim.client_id):
                raise
            logger.info(
                "Invocation %s answers a call that a rewind has undone: %s",
                self.claim.invocation_id,
                error,
                extra=self.claim.log_fields,
            )
            return REWOUND
        except TimeoutError as error:
            if not timeout.expired():  # An error of the agent's own code.
                raise
            raise LimitExceededError(
                f"This took longer than {limit:.0f} s, so it was stopped. Ask for less at once."
            ) from error
        return self._outcome()

    async def _run_message(self) -> None:
        message = types.Content.model_validate(self.claim.message)
        await self._run_agents(self.claim.invocation_id, message, self.claim.state_delta or None)

    async def _resume(self) -> None:
        """Continue an earlier attempt from its events (contract R1)."""
        claim = self.claim
        if claim.attempts > self._conf.invocation_attempts:
            interruptions = claim.attempts - 1
            raise NotResumableError(f"it was interrupted {interruptions} time{pluralize(interruptions)}")
        session = await self._load_session()
        message_event = find_message_event(claim.invocation_id, claim.message, session.events)
        logger.info(
            "Invocation %s is resumed from its events, attempt %d",
            claim.invocation_id,
            claim.attempts,
            extra={**claim.log_fields, "attempt": claim.attempts},
        )
        if message_event is None:  # The earlier attempt died before its first commit.
            await self._run_message()
            return
        events = events_of_invocation(session.events, message_event.invocation_id)
        root = self.app.root_agent
        problem = reason_not_resumable(root, events)
        if problem:
            raise NotResumableError(problem)
        self._events = list(events)
        # A retry has the full limits again; an attempt after a crash continues the counts of the attempts before.
        if not claim.is_retried:
            since = events[index_of_message(events, message_event) :]
            self._usage = InvocationUsage(self._conf, since)
            self._model_calls = model_calls(root, since)
        was_complete = events[-1].is_final_response() and events[-1].author != "user"
        if claim.attempts > 1 and not was_complete:
            await self._sessions.append_event(session, resumed_event(events, claim.lease_token))
        await self._run_agents(message_event.invocation_id)

    async def _run_agents(
        self,
        invocation_id: str,
        message: types.Content | None = None,
        state_delta: dict[str, Any] | None = None,
    ) -> None:
        """Run the agents; publish partial events and record all others."""
        claim = self.claim
        marks = dict(marks_of(claim) or {})
        runner = Runner(
            app=self.app,
            session_service=self._sessions,
            artifact_service=DjangoArtifactService(),
            memory_service=DjangoMemoryService(on_recall=partial(marks.__setitem__, RECALLED)),
            credential_service=DjangoCredentialService(),
            compacts=False,  # The worker compacts after the end, without the lease.
        )
        config = RunConfig(
            streaming_mode=StreamingMode.SSE,
            max_llm_calls=self._conf.invocation_model_calls,
            llm_calls_before=self._model_calls,
            user_instructions_limit=self._conf.custom_instructions_limit,
            on_call_end=self._publisher.publish_call_end,
            on_tool_error=self._call_errors.note,
            on_model_call=self._model_call_log.note,
            on_failure=self._note_failure,  # `ending` records failures, with a sentence of the site.
            choose_model=partial(chosen_model, claim.app_name),
            check_agent=self._check_agent,
            stage_wait=stage_wait,
        )
        # Assigned: the constructor would copy the marks, and events after a search of the memory have one more.
        config.custom_metadata = marks
        events = runner.run_async(
            user_id=str(claim.user_id),
            session_id=claim.session_key,
            invocation_id=invocation_id,
            new_message=message,
            state_delta=state_delta,
            run_config=config,
            credentials=decrypt(claim.credentials),
        )
        # Closed even after an exception of this loop, such as an exceeded limit: the agents' `finally` blocks run now.
        async with aclosing(events):
            async for event in events:
                if event.partial:
                    self._usage.note_partial(event)
                    self._publisher.publish_partial(event)
                    await self._publisher.let_others_run()
                else:
                    self._record(event)

    def _check_agent(self, agent: BaseAgent) -> None:
        """Refuse the root agent of an app that the session's user may not use: other apps may have it below theirs."""
        if any(agent is closed for closed in self._closed_agents):
            raise AgentClosedError

    async def close_log(self, outcome: Outcome) -> None:
        """Commit the closing events of an outcome that the agent could not write."""
        session = await self._load_session()
        closing = closing_events(
            self.claim,
            session.events,
            self._publisher.uncommitted_texts(),
            outcome,
            self._origin,
        )
        # Before the responses are committed: an ended job would queue another response to the same call.
        if self.claim.is_cancelled:
            await end_jobs_of_calls(self.claim, {id for event in closing for id in response_ids(event)})
        for event in closing:
            await self._sessions.append_event(session, event)

    async def settle_calls(self, outcome: Outcome) -> None:
        """Complete waiting invocations whose calls were answered here, and store requests for waiting calls."""
        may_end_waits = answers_calls(self.claim.message) or self._ends_earlier_waits()
        # The usual message neither answers nor asks: spare the load of the session.
        if not (may_end_waits or outcome is WAITING or self.claim.is_cancelled):
            return
        claim = self.claim
        pending = await self._sessions.pending_calls(**claim.runtime_args)
        if may_end_waits:
            await leases.complete_waiting(claim, sorted(waiting_invocations(pending)))
        await sync_answer_requests(claim.session_id, claim.app_name, pending, claim.lease_token)

    async def compact(self) -> None:
        """Compact the session. Needs no lease, so the next message does not wait for the summary."""
        claim = self.claim
        sessions = DjangoSessionService(Writer(on_commit=self._publisher.publish_commit))
        runner = Runner(app=self.app, session_service=sessions)
        await runner.compact_async(
            user_id=str(claim.user_id), session_id=claim.session_key, invocation_id=claim.invocation_id
        )

    async def _load_session(self) -> RuntimeSession:
        claim = self.claim
        session = await self._sessions.get_session(
            **claim.runtime_args, config=GetSessionConfig(without_superseded=True)
        )
        if session is None:
            raise SessionNotFoundError(f"Session {claim.session_key!r} is gone: it was deleted meanwhile.")
        return session

    def _without_failures(self, events: list[RuntimeEvent]) -> list[RuntimeEvent]:
        """Return the events without errors and interrupted texts of earlier attempts: the model must not read them."""
        message_event = find_message_event(self.claim.invocation_id, self.claim.message, events)
        return without_failures(message_event, events)

    def _note_failure(self, agent_name: str, node_path: str | None, error: Exception) -> None:
        self._origin = FailureOrigin(agent_name, node_path, self._call_errors.tool_that_raised(error))

    def _record(self, event: RuntimeEvent) -> None:
        """Keep an event for the outcome, and count its use. Raise as `InvocationUsage.add`."""
        self._events.append(event)
        self._usage.add(event)

    def _ends_earlier_waits(self) -> bool:
        """Return True if an agent has answered calls of an earlier invocation, as remote agents do."""
        made = {call_id for event in self._events for call_id in call_ids(event)}
        return any(response_ids(event) - made for event in self._events)

    def _outcome(self) -> Outcome:
        last = self._events[-1] if self._events else None
        if last is not None and last.error_code:
            message = last.error_message or gettext_noop("The model could not answer.")
            return Outcome(
                InvocationStatus.FAILED,
                error_code=storable(last.error_code[:64]),
                error_message=storable(message),
                error_detail=masked(last.error_detail or ""),
            )
        return WAITING if has_pending_calls(self._events) else COMPLETED

"""The invocations that this process runs: each an asyncio task of its own, never inside a consumer."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

from runtime.context import new_invocation_id
from runtime.errors import LlmCallsLimitExceededError, SessionNotFoundError
from sessions_app import celery_dispatch
from sessions_app.agent_registry import get_app
from sessions_app.conf import conf
from sessions_app.db import cancel_requests, concurrency_limits, invocation_queue, leases
from sessions_app.db.leases import Claim
from sessions_app.db.pool import UNAVAILABLE
from sessions_app.errors import CannotGoOnError, LimitExceededError, StaleLeaseError
from sessions_app.invocations.execution import Execution
from sessions_app.invocations.outcome import (
    HANDED_OVER,
    RESTARTED,
    STOPPED,
    STOPPED_BY_STAFF,
    TOO_MANY_CALLS,
    Outcome,
)
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import Live, live
from sessions_app.models import InvocationStatus

logger = logging.getLogger(__name__)


@dataclass
class _Running:
    """An invocation at work.

    Attributes:
        stop_as: why it is to stop.
        has_begun: whether its task runs: cancelled before that, it would never write its end.
        is_ending: its run is over, and its end is being written: the lease may be given back at any moment.
    """

    claim: Claim
    task: asyncio.Task[Any]
    stop_as: Outcome | None = None
    has_begun: bool = False
    is_ending: bool = False


class InvocationWorker:
    """Claims, runs, renews, cancels and ends invocations; one for each event loop of a process."""

    def __init__(self, news: Live) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._live = news
        self._running: dict[str, _Running] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._heartbeat: asyncio.Task[Any] | None = None
        self._closing = False
        self._beside: set[asyncio.Task[None]] = set()
        self._compacting: set[UUID] = set()
        news.relay.on_cancel = self.cancel_here

    async def start(
        self,
        session_id: UUID,
        *,
        user_id: Any,
        client_id: str,
        message: dict[str, Any],
        title: str = "",
        policies: Mapping[str, str] | None = None,
    ) -> invocation_queue.Queued | None:
        """Queue an invocation, and run it here at once when nothing runs. None when the user has no such session.

        Without `policies` it is queued whatever the app's is.
        """
        lease = invocation_queue.Lease(self.owner, conf().lease_seconds)
        queued = await invocation_queue.enqueue(
            session_id,
            user_id=user_id,
            invocation_id=new_invocation_id(),
            client_id=client_id,
            message=message,
            title=title,
            lease=None if self._closing else lease,
            rules=invocation_queue.AdmissionRules(policies or {}, _limits()),
        )
        if queued is None or queued.status == invocation_queue.REFUSED:
            return queued
        if queued.claim is not None:
            self._start(queued.claim)
            return queued
        self._tell_of(session_id, queued.invocation_id, client_id, queued.status)
        if queued.interrupts:
            await self._make_way(session_id, queued.invocation_id, user_id)
        if queued.status == InvocationStatus.QUEUED:
            await self.start_next(session_id)
        return queued

    async def _make_way(self, session_id: UUID, invocation_id: str, user_id: Any) -> None:
        """Stop what a newer message of the person interrupts."""
        for one in await invocation_queue.make_way(session_id, invocation_id=invocation_id, user_id=user_id):
            if one.status == InvocationStatus.RUNNING:
                await self.cancel(one.invocation_id)
            else:
                self._tell_of(session_id, one.invocation_id, one.client_id, one.status)

    async def start_next(self, session_id: UUID) -> asyncio.Task[Any] | None:
        """Run the session's oldest queued invocation, unless one is running. Returns its task."""
        if self._closing:
            return None
        claim = await leases.claim_next(
            session_id, owner=self.owner, lease_seconds=conf().lease_seconds, limits=_limits()
        )
        return self._start(claim) if claim else None

    async def run_queue(self, session_id: UUID) -> bool:
        """Run what is queued in the session, one after the other, and wait for the end. False when nothing was."""
        first = task = await self.start_next(session_id)
        while task is not None:
            task = await task
        return first is not None

    def cancel_here(self, invocation_id: str) -> bool:
        """Stop the invocation if this process runs it."""
        return self._stop(invocation_id, STOPPED)

    async def cancel(self, invocation_id: str) -> None:
        """Stop the invocation, wherever it runs."""
        if not self.cancel_here(invocation_id):
            self._live.relay.cancel(invocation_id)

    async def close(self) -> None:
        """Stop taking work, and hand what runs over to whoever is there next."""
        self._closing = True
        for invocation_id in list(self._running):
            self._stop(invocation_id, HANDED_OVER)
        await self.ended()
        others = [*self._beside, *([self._heartbeat] if self._heartbeat else [])]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def ended(self) -> None:
        """Nothing runs here, and nothing more that was queued begins."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, claim: Claim) -> asyncio.Task[Any]:
        task = asyncio.create_task(self._work(claim), name=f"invocation {claim.invocation_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._running[claim.invocation_id] = _Running(claim, task)
        if self._heartbeat is None or self._heartbeat.done():
            self._heartbeat = asyncio.create_task(self._renew_leases(), name="renew leases")
        return task

    def _stop(self, invocation_id: str, stop_as: Outcome) -> bool:
        running = self._running.get(invocation_id)
        if running is None or running.is_ending or running.stop_as is not None:
            return running is not None
        running.stop_as = stop_as
        if running.has_begun:
            running.task.cancel()
        return True

    async def _work(self, claim: Claim) -> asyncio.Task[Any] | None:
        """Run the invocation, end it whatever happens, and return the task of what was queued behind it."""
        more_is_queued, ending = True, None
        execution = Execution(claim, self._live.hub)
        try:
            self._tell(claim, InvocationStatus.RUNNING)
            ending = await self._outcome(execution)
            self._running[claim.invocation_id].is_ending = True
            if ending is not None:
                more_is_queued = await asyncio.shield(self._end(execution, *ending))
        finally:
            self._running.pop(claim.invocation_id, None)
            self._live.hub.forget_text(claim.session_id, claim.invocation_id)
        has_failed = ending is not None and ending[0].status == InvocationStatus.FAILED
        if not has_failed and get_app(claim.app_name).events_compaction_config is not None:
            self._later(self._compact(execution))
        return await self.start_next(claim.session_id) if more_is_queued else None

    async def _compact(self, execution: Execution) -> None:
        """Sum the session up, if that is due and is not being done: what was said since has its turn later."""
        session_id = execution.claim.session_id
        if session_id in self._compacting:
            return
        self._compacting.add(session_id)
        try:
            await execution.compact()
        except Exception:  # the answer is complete; the next invocation tries again
            logger.exception("Session %s was not compacted", session_id)
        finally:
            self._compacting.discard(session_id)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the invocations; a stop of the process drops it."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _outcome(self, execution: Execution) -> tuple[Outcome, bool] | None:
        """How the run ended, and whether its end is in the log already; None when it is not ours any more."""
        invocation_id = execution.claim.invocation_id
        this = self._running[invocation_id]
        this.has_begun = True
        if execution.claim.is_cancelled:
            return STOPPED, False
        if this.stop_as or self._closing:
            return this.stop_as or HANDED_OVER, False
        try:
            return await execution.run(), True
        except asyncio.CancelledError:
            return this.stop_as or HANDED_OVER, False
        except (StaleLeaseError, SessionNotFoundError) as error:
            logger.warning("Invocation %s ends here: %s", invocation_id, error)
            return None
        except UNAVAILABLE:
            logger.warning(
                "Invocation %s lost PostgreSQL; it is taken up again", invocation_id, exc_info=True
            )
            return HANDED_OVER, False
        except CannotGoOnError as error:
            logger.warning("Invocation %s was not resumed: %s", invocation_id, error)
            return RESTARTED, False
        except LlmCallsLimitExceededError as error:
            logger.warning("Invocation %s was stopped: %s", invocation_id, error)
            return TOO_MANY_CALLS, False
        except LimitExceededError as error:
            return Outcome(InvocationStatus.FAILED, "LIMIT", str(error)), False
        except Exception as error:
            logger.exception("Invocation %s failed", invocation_id)
            return _failure(invocation_id, error), False

    async def _end(self, execution: Execution, outcome: Outcome, is_logged: bool = False) -> bool:
        """Write the end and tell it. Returns whether more is queued in the session."""
        claim = execution.claim
        if outcome is HANDED_OVER:
            await self._hand_over(claim)
            return False
        try:
            if outcome is STOPPED and await cancel_requests.is_stopped_by_staff(claim):
                outcome = STOPPED_BY_STAFF
            outcome = await self._close_log(execution, outcome, is_logged)
            finished = await leases.finish(
                claim,
                status=outcome.status,
                error_code=outcome.error_code,
                error_message=outcome.error_message,
            )
        except (StaleLeaseError, SessionNotFoundError) as error:
            logger.warning("Invocation %s ends here: %s", claim.invocation_id, error)
            return False
        except UNAVAILABLE:
            logger.warning(
                "Invocation %s is ended when its lease runs out", claim.invocation_id, exc_info=True
            )
            return False
        if finished is None:
            return False
        self._tell(claim, outcome.status, outcome.error_message)
        return finished.more_is_queued

    async def _close_log(self, execution: Execution, outcome: Outcome, is_logged: bool) -> Outcome:
        """Write the end into the log. Where that cannot be done the row alone tells it: as a failure."""
        try:
            if not is_logged:
                await execution.close_log(outcome)
            await execution.settle_waiting()
        except (StaleLeaseError, SessionNotFoundError, *UNAVAILABLE):
            raise
        except Exception as error:
            invocation_id = execution.claim.invocation_id
            logger.exception("The log of invocation %s could not be closed", invocation_id)
            has_failed = outcome.status == InvocationStatus.FAILED
            return outcome if has_failed else _failure(invocation_id, error)
        return outcome

    async def _hand_over(self, claim: Claim) -> None:
        """Let a worker go on, at once rather than when the lease runs out."""
        try:
            handed_over = await leases.hand_over(claim)
        except UNAVAILABLE:
            logger.warning("Invocation %s is taken up when its lease runs out", claim.invocation_id)
            return
        if handed_over:
            self._tell(claim, InvocationStatus.QUEUED)
            await self._live.relay.flush()  # before another process tells that it runs
            await celery_dispatch.run_session_elsewhere(claim.session_id)

    def _tell(self, claim: Claim, status: str, error: str = "") -> None:
        self._tell_of(claim.session_id, claim.invocation_id, claim.client_id, status, error)

    def _tell_of(
        self, session_id: UUID, invocation_id: str, client_id: str, status: str, error: str = ""
    ) -> None:
        notice = invocation_notice(invocation_id, client_id, status, error)
        self._live.hub.publish_notice(session_id, notice)

    async def _renew_leases(self) -> None:
        """Push the leases on while there are any; what was lost, or is to be stopped, is stopped."""
        while self._running:
            await asyncio.sleep(conf().heartbeat_seconds)
            held = {one.claim.session_id: one for one in self._running.values() if not one.is_ending}
            try:
                renewed = await leases.renew(list(held), owner=self.owner, lease_seconds=conf().lease_seconds)
            except Exception:  # PostgreSQL may be away for a moment; the fencing token keeps the log safe
                logger.warning("Leases could not be renewed; trying again", exc_info=True)
                continue
            for invocation_id in renewed.cancelled:
                self.cancel_here(invocation_id)
            for session_id, one in held.items():
                if session_id not in renewed.held and not one.is_ending:
                    self._stop(one.claim.invocation_id, HANDED_OVER)


_workers: WeakKeyDictionary[asyncio.AbstractEventLoop, InvocationWorker] = WeakKeyDictionary()


def worker() -> InvocationWorker:
    """The running loop's worker."""
    loop = asyncio.get_running_loop()
    if loop not in _workers:
        _workers[loop] = InvocationWorker(live())
    return _workers[loop]


async def close_worker() -> None:
    """End what the running loop's worker does."""
    known = _workers.pop(asyncio.get_running_loop(), None)
    if known is not None:
        await known.close()


def _limits() -> concurrency_limits.Limits:
    """How many may run at once, as the site's settings have it."""
    return concurrency_limits.Limits(conf().by_app("invocations_of_app"), conf().invocations_of_person)


def _failure(invocation_id: str, error: Exception) -> Outcome:
    """For the person a sentence; what exactly went wrong is in the log under the invocation's id."""
    message = (
        "Something went wrong while answering. Your message is kept; try again, or tell the people who run this "
        f"site that {invocation_id} failed."
    )
    return Outcome(InvocationStatus.FAILED, type(error).__name__[:64], message)

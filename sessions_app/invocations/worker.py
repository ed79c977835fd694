"""Worker: claims and runs the invocations of an event loop, each in its own asyncio task rather than in a consumer.

    message -----> start:      enqueue -----> claim --+
                                                      +--> _create_task --> _run_claim: run, write the end
    Celery task -> run_queue:  start_next --> claim --+                              |
                                   ^                                                 |
                                   +---------------- more is queued -----------------+

Web processes and Celery workers have the same worker. A message to an idle session runs where it arrived, without a
broker. A message to a busy session stays queued: the process that ends the running invocation claims the next and runs
it in a new task. `_run_claim` returns that task, so `run_queue` can await the whole queue. Whatever starts an
invocation elsewhere (a job's result, a sweep, a hand-over) sends a Celery task.

A shutdown hands the running invocations over: `RunningInvocation.stop` cancels each task, which queues its invocation
again and ends. After a crash a sweep finds the expired leases.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from runtime.tools.tool_threads import set_tool_threads
from runtime.trace_context import trace_context
from sessions_app.agent_apps.registry import versions
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.history.telemetry.span_export import export_spans
from sessions_app.history.telemetry.trace_contexts import InvocationTrace, find_trace
from sessions_app.invocations import titles
from sessions_app.invocations.ending import publish_status, run_to_ending, write_ending
from sessions_app.invocations.exceeded_limits import error_of
from sessions_app.invocations.execution import Execution
from sessions_app.invocations.outcome import HANDED_OVER, STOPPED
from sessions_app.invocations.running import RunningInvocation, renew_leases
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import Live, live
from sessions_app.models import InvocationStatus
from sessions_app.process.json_logs import logs_of_invocation
from sessions_app.process.threads import LoopLocal, create_task, in_thread
from sessions_app.sessions.ownership import NO_SESSION
from sessions_app.store.sql import admission_limits, invocation_queue, leases
from sessions_app.store.sql.invocation_queue import NewInvocation, Queued
from sessions_app.store.sql.leases import Claim

logger = logging.getLogger(__name__)


class InvocationWorker:
    """Claims, runs, cancels and hands over the invocations of an event loop."""

    def __init__(self, live: Live) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._live = live
        self._running: dict[str, RunningInvocation] = {}
        self._invocation_tasks: set[asyncio.Task[Any]] = set()
        self._background_tasks: set[asyncio.Task[Any]] = set()
        self._compacting: set[UUID] = set()
        self._heartbeat: asyncio.Task[None] | None = None
        self._is_closing = False
        live.relay.on_cancel = self.cancel_here

    async def start(self, new: NewInvocation, *, obeys_queue_policy: bool = False) -> Queued:
        """Queue an invocation, and run it here immediately when the session is idle.

        Args:
            obeys_queue_policy: True for a user's message: the queue policy of the app may refuse it, or interrupt
                earlier invocations. Other work waits for its turn.

        Raises:
            NotFoundError: the user has no such session.
            ConflictError: another invocation is active, and the queue policy is `reject`.
            LimitExceededError: too many messages of the user wait for their turn, or the acting API key has used up its
                tokens of the day.
        """
        lease = invocation_queue.NO_LEASE
        if not self._is_closing:
            lease = invocation_queue.Lease(self.owner, conf().lease_seconds, versions())
        policies = conf().by_app("queue_policy") if obeys_queue_policy else {}
        rules = invocation_queue.AdmissionRules(policies, _limits())
        queued = await invocation_queue.enqueue(new, lease=lease, rules=rules)
        if queued is None:
            raise NotFoundError(NO_SESSION)
        if queued.refused_by:
            raise error_of(queued.refused_by)
        if queued.claim is not None:
            self._create_task(queued.claim)
            return queued
        if queued.status == InvocationStatus.QUEUED and not queued.is_repeated:
            fields = {"invocation_id": queued.invocation_id, "session_id": str(new.session_id)}
            logger.info("Invocation %s waits for its turn", queued.invocation_id, extra=fields)
        notice = invocation_notice(queued.invocation_id, new.client_id, queued.status)
        self._live.hub.publish_notice(new.session_id, notice)
        if queued.interrupts:
            await self._interrupt_older(new)
        # The session may have no lease but older invocations in its queue, or have become idle since the statement.
        if queued.status == InvocationStatus.QUEUED:
            await self.start_next(new.session_id)
        return queued

    async def _interrupt_older(self, new: NewInvocation) -> None:
        """Cancel the invocations interrupted by a newer message."""
        interrupted = await invocation_queue.interrupt_older(
            new.session_id, invocation_id=new.invocation_id, by=new.by
        )
        for older in interrupted:
            if older.status == InvocationStatus.RUNNING:
                await self.cancel(older.invocation_id)
            else:
                notice = invocation_notice(older.invocation_id, older.client_id, older.status)
                self._live.hub.publish_notice(new.session_id, notice)

    async def start_next(self, session_id: UUID) -> asyncio.Task[Any] | None:
        """Claim and run the session's oldest queued invocation. Return its task; None when nothing was claimed."""
        if self._is_closing:
            return None
        claim = await leases.claim_next(
            session_id,
            owner=self.owner,
            lease_seconds=conf().lease_seconds,
            limits=_limits(),
            versions=versions(),
        )
        return self._create_task(claim) if claim else None

    async def run_queue(self, session_id: UUID) -> bool:
        """Run the session's queued invocations in turn, to the end. Return False when none ran."""
        first = task = await self.start_next(session_id)
        while task is not None:
            task = await task
        return first is not None

    def cancel_here(self, invocation_id: str) -> bool:
        """Cancel the invocation if this worker runs it. Return False otherwise."""
        running = self._running.get(invocation_id)
        if running is None:
            return False
        running.stop(STOPPED)
        return True

    async def cancel(self, invocation_id: str) -> None:
        """Cancel the invocation, whichever process runs it."""
        if not self.cancel_here(invocation_id):
            self._live.relay.send_cancel(invocation_id)

    async def close(self) -> None:
        """Claim nothing more, and hand the running invocations over to other processes."""
        self._is_closing = True
        for running in list(self._running.values()):
            running.stop(HANDED_OVER)
        await self.wait_until_idle()
        others = set(self._background_tasks)
        if self._heartbeat is not None:
            others.add(self._heartbeat)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def wait_until_idle(self) -> None:
        """Wait until no invocation runs here and the queues of their sessions are empty."""
        while self._invocation_tasks:
            await asyncio.wait(self._invocation_tasks)

    def _create_task(self, claim: Claim) -> asyncio.Task[Any]:
        fields = {**claim.log_fields, "app": claim.app_name, "attempt": claim.attempts}
        logger.info("Invocation %s begins, attempt %d", claim.invocation_id, claim.attempts, extra=fields)
        task = create_task(self._run_claim(claim), f"invocation {claim.invocation_id}")
        _keep_until_done(task, self._invocation_tasks)
        running = self._running[claim.invocation_id] = RunningInvocation(claim, task)
        # A task that is cancelled before its first step never runs its `finally`; its lease must not be renewed.
        task.add_done_callback(partial(self._forget, running))
        if self._is_closing:  # The worker was closed while the claim was on its way.
            running.stop(HANDED_OVER)
        if self._heartbeat is None or self._heartbeat.done():
            renewal = renew_leases(self._running, self.owner)
            self._heartbeat = create_task(renewal, "renew leases")
        return task

    def _forget(self, running: RunningInvocation, task: asyncio.Task[Any]) -> None:
        if self._running.get(running.claim.invocation_id) is running:
            del self._running[running.claim.invocation_id]

    async def _run_claim(self, claim: Claim) -> asyncio.Task[Any] | None:
        """Run the invocation and write its end. Return the task of the session's next invocation, for `run_queue`."""
        ending = None
        finished = None
        running = self._running[claim.invocation_id]
        execution = Execution(claim, self._live.hub)
        trace = None
        try:
            publish_status(self._live, claim, InvocationStatus.RUNNING)
            if conf().otlp_endpoint:
                trace = await in_thread(find_trace, claim.invocation_id, claim.attempts)
            traceparent = trace.traceparent if trace else ""
            with logs_of_invocation(claim.invocation_id), trace_context(traceparent):
                ending = await run_to_ending(execution, running)
                running.is_ending = True
                if ending is not None:
                    # Shielded and kept: when this task is cancelled now, `wait_until_idle` waits for the write.
                    writing = asyncio.create_task(write_ending(execution, ending, self._live))
                    _keep_until_done(writing, self._invocation_tasks)
                    finished = await asyncio.shield(writing)
        finally:
            self._running.pop(claim.invocation_id, None)
            self._live.hub.drop_text(claim.session_id, claim.invocation_id)
        if finished is not None and finished.status != InvocationStatus.FAILED:
            self._start_follow_up_work(execution, trace)
        # Without an ending the lease is lost or the session gone, and the queue is not known: try a claim.
        if ending is None or (finished is not None and finished.more_is_queued):
            return await self.start_next(claim.session_id)
        return None

    def _start_follow_up_work(self, execution: Execution, trace: InvocationTrace | None) -> None:
        """Begin to compact the session, ask for a title and export spans. A shutdown cancels this work."""
        try:
            app = execution.app
        except NotFoundError:
            # The invocation was stopped before it began, and the site no longer has its app.
            return
        if app.events_compaction_config is not None:
            self._run_in_background(self._compact(execution), f"compact {execution.claim.session_id}")
        if titles.may_get_title(execution.claim):
            titling = titles.give_title(execution.claim, app)
            self._run_in_background(titling, f"title {execution.claim.session_id}")
        if trace is not None:
            claim = execution.claim
            export = export_spans(claim.session_id, claim.invocation_id, execution.began_at, trace)
            self._run_in_background(export, f"export {claim.invocation_id}")

    def _run_in_background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        _keep_until_done(create_task(work, name), self._background_tasks)

    async def _compact(self, execution: Execution) -> None:
        """Compact the session, unless a compaction runs: the next invocation compacts the rest."""
        session_id = execution.claim.session_id
        if session_id in self._compacting:
            return
        self._compacting.add(session_id)
        try:
            await execution.compact()
        except Exception:  # The answer is complete; the next invocation tries again.
            logger.exception(
                "Session %s was not compacted", session_id, extra={"session_id": str(session_id)}
            )
        finally:
            self._compacting.discard(session_id)


def _keep_until_done(task: asyncio.Task[Any], tasks: set[asyncio.Task[Any]]) -> None:
    """Track the task, so `close` and `wait_until_idle` can wait for it."""
    tasks.add(task)
    task.add_done_callback(tasks.discard)


def _make_worker() -> InvocationWorker:
    set_tool_threads(conf().tool_threads)
    return InvocationWorker(live())


_workers = LoopLocal(_make_worker)


def worker() -> InvocationWorker:
    """Return the running loop's worker."""
    return _workers.get()


async def close_worker() -> None:
    """Close the running loop's worker, if it has one."""
    closing = _workers.pop()
    if closing is not None:
        await closing.close()


def _limits() -> admission_limits.AdmissionLimits:
    """Return the site's limits on invocations that run or wait, and on the use of a day."""
    site = conf()
    return admission_limits.AdmissionLimits(
        site.by_app("max_invocations_per_app"),
        site.max_invocations_per_user,
        queued=site.max_queued_messages_per_user,
        tokens=site.max_tokens_per_user,
        cost=site.max_cost_per_user,
    )

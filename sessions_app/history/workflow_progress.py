"""Progress of the workflows of an invocation, from its effective events and the graph of the app."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from runtime.events import Event as RuntimeEvent
from runtime.workflow.progress import NodeJob, NodeProgress, WorkflowProgress, progress_of
from sessions_app.agent_apps import registry
from sessions_app.base import client_ids
from sessions_app.base.codec import event_to_show
from sessions_app.models import Invocation, InvocationStatus, JobStatus, Session, ToolJob

MAX_EVENTS = 5_000
"""Maximum number of events that are read for the progress of an invocation."""


@dataclass(frozen=True)
class InvocationProgress:
    """The workflows of an invocation.

    Attributes:
        failed_id: id of the failed invocation to try again; empty if none has failed at the end.
        seqs: `seq` of each event that was read.
        is_cut: True if the invocation has more events than were read.
        is_continued: True for the failure of an answer: its workflow is a part of the invocation that asked.
    """

    runs: list[WorkflowProgress]
    failed_id: str
    seqs: list[int]
    is_cut: bool
    is_continued: bool

    def seq_of(self, node: NodeProgress) -> int | None:
        """Return the `seq` of the latest event of a node; None without an event."""
        return None if node.place is None else self.seqs[node.place]


def load_progress(session: Session, invocation_id: str, until: int | None = None) -> InvocationProgress:
    """Return the progress of an invocation; with `until`, as it was after the event with this `seq`."""
    own = session.events.filter(invocation_id=invocation_id).order_by("seq").only("seq", "body")
    rows = list(own[: MAX_EVENTS + 1])
    events = {row.seq: event_to_show(row.body) for row in rows[:MAX_EVENTS]}
    # An answer that failed has an event of its own, its failure, and no workflow.
    is_continued = bool(rows) and events[rows[0].seq].author != "user"
    calls = {call_id for event in events.values() for call_id in event.long_running_tool_ids or ()}
    jobs = session.jobs.filter(call_id__in=calls)
    continued = _continued_by(session, invocation_id, calls, jobs.values_list("pk", flat=True))
    events |= _failures_of(session, continued)
    seqs = [seq for seq in sorted(events) if until is None or seq <= until]
    # At an earlier time, what came later was still to run.
    is_running = len(seqs) < len(events) or any(row.status in InvocationStatus.active() for row in continued)
    failed_id = ""
    if continued and continued[-1].status == InvocationStatus.FAILED:
        failed_id = continued[-1].invocation_id
    # An app that is no longer installed has no graph: then the nodes alone are shown.
    app = registry.apps().get(session.app_name)
    shown_jobs = jobs.only("call_id", "status", "attempts", "run_at", "sent_at", "started_at")
    runs = progress_of(
        app.root_agent if app else None,
        [events[seq] for seq in seqs],
        is_running=is_running,
        jobs={job.call_id: _as_node_job(job) for job in shown_jobs},
    )
    return InvocationProgress(runs, failed_id, seqs, len(rows) > MAX_EVENTS, is_continued)


def _failures_of(session: Session, continued: Sequence[Invocation]) -> dict[int, RuntimeEvent]:
    """Return the errors of the invocations that gave an answer, by `seq`.

    Such an error has the id of its own invocation; all other events have the id of the invocation that asked.
    """
    ids = [row.invocation_id for row in continued]
    failures = session.events.filter(invocation_id__in=ids, kind="error").only("seq", "body")
    return {row.seq: event_to_show(row.body) for row in failures[:MAX_EVENTS]}


def _as_node_job(job: ToolJob) -> NodeJob:
    begins_at = None
    if job.run_at and job.is_delayed:
        begins_at = job.run_at.timestamp()
    return NodeJob(job.attempts, begins_at, asks=job.status == JobStatus.WAITING)


def _continued_by(
    session: Session, invocation_id: str, calls: Iterable[str], jobs: Iterable[UUID]
) -> list[Invocation]:
    """Return the row of the invocation and those of the answers to its calls, oldest first."""
    answers = [*map(client_ids.of_answer, calls), *map(client_ids.of_job, jobs)]
    rows = session.invocations.filter(Q(invocation_id=invocation_id) | Q(client_id__in=answers))
    return list(rows.order_by("pk").only("invocation_id", "status"))

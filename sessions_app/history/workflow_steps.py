"""Workflows of an invocation: its steps, from the events in effect and the graph of the app."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from runtime.workflow.steps import Step, WorkflowSteps, steps_of
from sessions_app.agent_apps import registry
from sessions_app.base import client_ids
from sessions_app.base.codec import event_to_show
from sessions_app.models import Invocation, InvocationStatus, Session

MAX_EVENTS = 5_000
"""Largest number of events that the steps of an invocation are read from."""


@dataclass(frozen=True)
class InvocationSteps:
    """The workflows of an invocation.

    Attributes:
        failed_id: id of the failed invocation to try again; empty if none has failed at the end.
        seqs: `seq` of each event that was read.
        is_cut: True if the invocation has more events than were read.
    """

    runs: list[WorkflowSteps]
    failed_id: str
    seqs: list[int]
    is_cut: bool

    def seq_of(self, step: Step) -> int | None:
        """Return the `seq` of the latest event of a step; None without an event."""
        return None if step.place is None else self.seqs[step.place]


def load_steps(session: Session, invocation_id: str, until: int | None = None) -> InvocationSteps:
    """Return the steps of an invocation; with `until`, as they were after the event with this `seq`."""
    events = session.events.filter(invocation_id=invocation_id).order_by("seq").only("seq", "body")
    rows = list(events[: MAX_EVENTS + 1])
    shown = [row for row in rows[:MAX_EVENTS] if until is None or row.seq <= until]
    latest = _latest_row(session, invocation_id)
    has_gone_on = len(shown) < len(rows)
    is_running = has_gone_on or (latest is not None and latest.status in InvocationStatus.active())
    is_failed = latest is not None and not is_running and latest.status == InvocationStatus.FAILED
    app = registry.apps().get(session.app_name)
    calls = session.jobs.exclude(status="waiting").values_list("call_id", flat=True)
    runs = steps_of(
        app.root_agent if app else None,
        [event_to_show(row.body) for row in shown],
        is_running=is_running,
        jobs=set(calls),
    )
    failed_id = latest.invocation_id if latest is not None and is_failed else ""
    return InvocationSteps(runs, failed_id, [row.seq for row in shown], len(rows) > MAX_EVENTS)


def _latest_row(session: Session, invocation_id: str) -> Invocation | None:
    """Return the row that continued the invocation last: its own, or that of an answer to one of its calls."""
    own = session.invocations.filter(invocation_id=invocation_id).first()
    if own is None:
        return None
    # An answer has a row of its own, and its events have the id of the invocation that asked.
    is_answer = Q(client_id__startswith=client_ids.ANSWER) | Q(client_id__startswith=client_ids.JOB)
    answers = session.invocations.filter(is_answer, pk__gt=own.pk)
    return answers.order_by("-pk").first() or own

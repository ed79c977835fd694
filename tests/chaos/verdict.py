"""What must be true afterwards, asked of the database; each broken rule is one line."""

from __future__ import annotations

from collections import Counter
from typing import Any

from runtime.sessions.deltas import ScopedState
from sessions_app.models import AppState, Event, Invocation, Session, ToolJob, UserState
from tests.chaos.people import Person

AT_WORK = ("queued", "running")


def is_quiet() -> bool:
    """Whether nothing is under way any more."""
    return not (
        Invocation.objects.filter(status__in=AT_WORK).exists()
        or Session.objects.exclude(lease_owner="").exists()
        or ToolJob.objects.filter(delivered_at__isnull=True).exists()
    )


def broken_rules(people: list[Person]) -> list[str]:
    """Everything that is wrong; nothing, if all is well."""
    broken: list[str] = []
    shared: dict[str, Any] = {}
    for person in people:
        session = Session.objects.get(pk=person.session_id)
        events = list(Event.objects.filter(session=session).order_by("seq"))
        name = f"person {person.number}"
        broken += [f"{name}: {problem}" for problem in [*person.problems, *_log(session, events)]]
        broken += [f"{name}: {problem}" for problem in _answers(session, events)]
        seen = [person.log[seq]["id"] for seq in sorted(person.log)]
        if seen != [event.event_id for event in events]:
            broken.append(f"{name}: saw {len(seen)} events, the log has {len(events)}")
        for event in events:
            shared |= event.body.get("actions", {}).get("stateDelta", {})
    return broken + _shared_counts(people) + _left_over()


def _log(session: Session, events: list[Event]) -> list[str]:
    problems = []
    if [event.seq for event in events] != list(range(1, len(events) + 1)) or session.last_seq != len(events):
        problems.append("seq is not dense")
    folded = dict(session.initial_state)
    for event in events:
        folded |= ScopedState.split(event.body.get("actions", {}).get("stateDelta", {})).session
    if folded != session.state:
        problems.append(f"state {session.state} is not the fold of the deltas {folded}")
    return problems


def _answers(session: Session, events: list[Event]) -> list[str]:
    problems = []
    said = Counter(event.text for event in events if event.author == "user" and event.kind == "message")
    problems += [f"{text!r} was stored {count} times" for text, count in said.items() if count != 1]
    responses = Counter(
        part["functionResponse"]["id"]
        for event in events
        if event.author == "user"
        for part in event.body.get("content", {}).get("parts", [])
        if "functionResponse" in part
    )
    for job in ToolJob.objects.filter(session=session):
        if responses[job.call_id] != 1:
            problems.append(f"job {job.tool_name} {job.status} was answered {responses[job.call_id]} times")
    for invocation in Invocation.objects.filter(session=session):
        final = sum(_is_answer(event, invocation.invocation_id) for event in events)
        if invocation.status == "completed" and final != 1:
            problems.append(f"{invocation.client_id} was answered {final} times")
        if invocation.status == "failed" and not invocation.error_message:
            problems.append(f"{invocation.client_id} failed without a reason")
    return problems


def _is_answer(event: Event, invocation_id: str) -> bool:
    return (
        event.invocation_id == invocation_id
        and event.kind == "message"
        and event.author != "user"
        and not event.body.get("interrupted")
    )


def _shared_counts(people: list[Person]) -> list[str]:
    """Each `note` raised the app's and its user's count by one, or was overtaken by another: never above."""
    notes = sum(
        1
        for event in Event.objects.filter(kind="response")
        if "app:notes" in event.body.get("actions", {}).get("stateDelta", {})
    )
    stored = [
        AppState.objects.filter(app_name="chaos").first(),
        UserState.objects.filter(app_name="chaos").first(),
    ]
    return [
        f"{type(row).__name__} counts {row.state['notes']} of {notes} notes"
        for row in stored
        if row is not None and row.state.get("notes", 0) > notes
    ]


def _left_over() -> list[str]:
    problems = [
        f"{row.client_id} is still {row.status}" for row in Invocation.objects.filter(status__in=AT_WORK)
    ]
    problems += [f"session {row.key} is still leased" for row in Session.objects.exclude(lease_owner="")]
    problems += [
        f"job {row.id} was not answered" for row in ToolJob.objects.filter(delivered_at__isnull=True)
    ]
    return problems

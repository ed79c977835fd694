"""What must be true afterwards, asked of the database (issue 4, "Shown by"); each broken rule is one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from runtime.sessions.deltas import ScopedState
from sessions_app.models import AppState, Event, Invocation, Session, ToolJob, UserState
from tests.chaos.people import Person

AT_WORK = ("queued", "running")
ENDED = ("completed", "failed", "cancelled")


@dataclass
class Verdict:
    """What was looked at, and what is wrong; nothing, if all is well."""

    checked: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, what: str, looked_at: int, problems: list[str]) -> None:
        """Note that something was checked, and what was found."""
        self.checked[what] += looked_at
        self.broken += problems


def is_quiet() -> bool:
    """Whether nothing is under way any more."""
    return not (
        Invocation.objects.filter(status__in=AT_WORK).exists()
        or Session.objects.exclude(lease_owner="").exists()
        or ToolJob.objects.filter(delivered_at__isnull=True).exists()
    )


def judge(people: list[Person], messages: int) -> Verdict:
    """Check everything. Each person has sent so many messages."""
    verdict = Verdict()
    for person in people:
        session = Session.objects.get(pk=person.session_id)
        events = list(Event.objects.filter(session=session).order_by("seq"))
        jobs = list(ToolJob.objects.filter(session=session))
        found = [
            ("logs dense, their states the fold of their deltas", 1, _log(session, events)),
            ("clients saw exactly the log", 1, [*person.problems, *_seen(person, events)]),
            ("messages answered once, or ended with a reason", messages, _answers(person, events, messages)),
            ("jobs answered once", len(jobs), _jobs(jobs, events)),
        ]
        for what, count, problems in found:
            verdict.add(what, count, [f"person {person.number}: {problem}" for problem in problems])
    verdict.add("invocations ended, none without a lease", Invocation.objects.count(), _left_over())
    verdict.add("counts shared by sessions", 2, _shared_counts())
    return verdict


def _seen(person: Person, events: list[Event]) -> list[str]:
    """What came over the sockets is what is stored, to the last character."""
    if [person.log[seq] for seq in sorted(person.log)] == [event.body for event in events]:
        return []
    return [f"saw {len(person.log)} events, the log has {len(events)}, or one differs"]


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


def _answers(person: Person, events: list[Event], messages: int) -> list[str]:
    problems = []
    said = Counter(event.text for event in events if event.author == "user" and event.kind == "message")
    invocations = {row.client_id: row for row in Invocation.objects.filter(session_id=person.session_id)}
    for number in range(messages):
        row = invocations.get(f"p{person.number}-m{number}")
        if row is None:
            problems.append(f"message {number} was lost")
            continue
        times = sum(count for text, count in said.items() if text.split(" ")[-1] == row.client_id)
        if times != 1 and (row.status == "completed" or times > 1):
            problems.append(f"{row.client_id} was stored {times} times")
    for row in invocations.values():
        final = sum(_is_answer(event, row.invocation_id) for event in events)
        if row.status not in ENDED:
            problems.append(f"{row.client_id} is {row.status}")
        if row.status == "completed" and final != 1:
            problems.append(f"{row.client_id} was answered {final} times")
        if row.status == "failed" and not row.error_message:
            problems.append(f"{row.client_id} failed without a reason")
    return problems


def _jobs(jobs: Iterable[ToolJob], events: list[Event]) -> list[str]:
    responses = Counter(
        part["functionResponse"]["id"]
        for event in events
        if event.author == "user"
        for part in event.body.get("content", {}).get("parts", [])
        if "functionResponse" in part
    )
    return [
        f"job {job.id} {job.status} was answered {responses[job.call_id]} times"
        for job in jobs
        if responses[job.call_id] != 1
    ]


def _is_answer(event: Event, invocation_id: str) -> bool:
    return (
        event.invocation_id == invocation_id
        and event.kind == "message"
        and event.author != "user"
        and not event.body.get("interrupted")
    )


def _shared_counts() -> list[str]:
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
    """Everybody has stopped: a lease that is held, or work that is not at its end, belongs to nobody."""
    problems = [
        f"{row.client_id} is still {row.status}" for row in Invocation.objects.filter(status__in=AT_WORK)
    ]
    problems += [f"session {row.key} is still leased" for row in Session.objects.exclude(lease_owner="")]
    problems += [
        f"job {row.id} was not answered" for row in ToolJob.objects.filter(delivered_at__isnull=True)
    ]
    return problems

"""All checks of a run, on the rows in the database and the frames that the people received."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from runtime.sessions.state import State
from sessions_app.models import Invocation, ScheduledTask, Session, ToolJob
from tests.chaos.calls import check_answers_to_calls, check_jobs, check_tasks
from tests.chaos.conversation import Conversation
from tests.chaos.evidence import describe
from tests.chaos.messages import check_invocations, check_messages
from tests.chaos.outages import check_outages
from tests.chaos.people import Person
from tests.chaos.processes import Outage
from tests.chaos.staff import check_corrections
from tests.chaos.states import check_session_state, check_shared_states
from tests.chaos.workflows import check_workflows


@dataclass
class Verdict:
    """Result of all checks.

    Attributes:
        checked: Number of checked objects by the check's name.
        problems: One line for each failed check.
        evidence: Stored rows of each conversation with a problem.
    """

    checked: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)

    def add(self, name: str, count: int, problems: list[str]) -> None:
        """Add the result of a check of `count` objects."""
        self.checked[name] += count
        self.problems += problems


def is_quiet() -> bool:
    """True if nothing runs, nothing is queued and nothing is scheduled, at one moment."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return not (
            Invocation.objects.active().exists()
            or Session.objects.exclude(lease_owner="").exists()
            or _open_jobs().exists()
            or ScheduledTask.objects.active().exists()
        )


def judge(people: list[Person], outages: list[Outage]) -> Verdict:
    """Run all checks on the people's sessions, and on what failed beside PostgreSQL's outages."""
    verdict = Verdict()
    conversations = []
    for person in people:
        conversation = Conversation.load(Session.objects.get(pk=person.browser.session_id))
        conversations.append(conversation)
        problems_before = len(verdict.problems)
        for name, count, problems in _check_person(person, conversation):
            verdict.add(name, count, [f"person {person.number}: {problem}" for problem in problems])
        if len(verdict.problems) > problems_before:
            verdict.evidence.append(f"person {person.number}, {describe(conversation)}")
    verdict.add("states of apps and users", *check_shared_states(conversations))
    verdict.add("outages after which PostgreSQL was used again", len(outages), check_outages(outages))
    verdict.add("sessions without a lease or open work", len(conversations), _check_leftovers())
    return verdict


def _check_person(person: Person, conversation: Conversation) -> list[tuple[str, int, list[str]]]:
    orders = person.sent if conversation.is_flow else []
    return [
        ("people who have done all their acts", 1, _check_acts(person)),
        ("dense logs with matching session states", 1, check_session_state(conversation)),
        (
            "clients that received exactly the log",
            1,
            [*person.page.problems, *_check_received(person, conversation)],
        ),
        (
            "messages stored once, and hidden if edited",
            len(person.sent),
            check_messages(person, conversation),
        ),
        (
            "invocations answered once, ended with a reason, or waiting for an answer",
            len(conversation.invocations),
            check_invocations(person, conversation),
        ),
        ("histories without repeated answers to calls", 1, check_answers_to_calls(conversation)),
        ("corrections made once", len(person.corrected), check_corrections(person.corrected, conversation)),
        ("jobs answered once", len(conversation.jobs), check_jobs(conversation)),
        ("scheduled tasks with all their runs", len(conversation.tasks), check_tasks(conversation)),
        (
            "workflows with each output once, and each effect explained",
            len(orders),
            check_workflows(orders, conversation),
        ),
    ]


def _check_acts(person: Person) -> list[str]:
    if not person.act:
        return []
    return [
        f"not done: {person.act}. The page has {person.page.invocations} and events up to {person.page.seq}"
    ]


def _check_received(person: Person, conversation: Conversation) -> list[str]:
    check_tasks = getattr(
        person.browser, "check_tasks", None
    )  # Of a program of A2A, whose package is optional.
    return check_tasks(conversation) if check_tasks else _check_log(person, conversation)


def _check_log(person: Person, conversation: Conversation) -> list[str]:
    """Check that the received events equal the stored ones, but for the state of the app, which browsers do not get."""
    log, rows = person.page.log, conversation.rows
    if [log[seq] for seq in sorted(log)] == [_without_app_state(row.body) for row in rows]:
        return []
    return [f"received {len(log)} events, the log has {len(rows)}, or one differs"]


def _without_app_state(body: dict[str, Any]) -> dict[str, Any]:
    delta = body["actions"].get("stateDelta")
    if not delta:
        return body
    own = {key: value for key, value in delta.items() if not key.startswith(State.APP_PREFIX)}
    return {**body, "actions": {**body["actions"], "stateDelta": own}}


def _check_leftovers() -> list[str]:
    """Check that no lease is held and that no invocation or job is open, now that everybody has stopped."""
    problems = [f"{row.client_id} is still {row.status}" for row in Invocation.objects.active()]
    problems += [f"session {row.key} is still leased" for row in Session.objects.exclude(lease_owner="")]
    problems += [f"job {row.id} is still {row.status} or not answered" for row in _open_jobs()]
    return problems


def _open_jobs() -> QuerySet[ToolJob]:
    """Return the jobs that have not ended or whose answer is not delivered, except those that wait for the person."""
    return (ToolJob.objects.open() | ToolJob.objects.undelivered()).exclude(status="waiting")

"""What must be true afterwards, asked of the database (issue 4, "Shown by"); each broken rule is one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django.db.models import QuerySet

from sessions_app.models import Invocation, ScheduledTask, Session, ToolJob
from tests.chaos.calls import check_answers_to_calls, check_jobs, check_tasks
from tests.chaos.conversation import Conversation
from tests.chaos.evidence import told
from tests.chaos.messages import check_invocations, check_messages
from tests.chaos.people import Person
from tests.chaos.states import check_session_state, check_shared_states


@dataclass
class Verdict:
    """What was looked at, and what is wrong, with the conversations that it is in; nothing, if all is well."""

    checked: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)

    def add(self, what: str, looked_at: int, problems: list[str]) -> None:
        """Note that something was checked, and what was found."""
        self.checked[what] += looked_at
        self.broken += problems


def is_quiet() -> bool:
    """Whether nothing is under way any more, and nothing is to come."""
    return not (
        Invocation.objects.active().exists()
        or Session.objects.exclude(lease_owner="").exists()
        or _open_jobs().exists()
        or ScheduledTask.objects.active().exists()
    )


def judge(people: list[Person]) -> Verdict:
    """Check everything."""
    verdict = Verdict()
    conversations = []
    for person in people:
        conversation = Conversation.load(Session.objects.get(pk=person.browser.session_id))
        conversations.append(conversation)
        broken = len(verdict.broken)
        for what, count, problems in _of_one(person, conversation):
            verdict.add(what, count, [f"person {person.number}: {problem}" for problem in problems])
        if len(verdict.broken) > broken:
            verdict.evidence.append(f"person {person.number}, {told(conversation)}")
    verdict.add("states of apps and users", *check_shared_states(conversations))
    verdict.add("sessions without a lease, nothing left to do", len(conversations), _left_over())
    return verdict


def _of_one(person: Person, conversation: Conversation) -> list[tuple[str, int, list[str]]]:
    return [
        ("logs dense, their states the fold of their deltas", 1, check_session_state(conversation)),
        ("clients saw exactly the log", 1, [*person.page.problems, *_seen(person, conversation)]),
        (
            "messages stored once, edited ones out of the way",
            len(person.said),
            check_messages(person, conversation),
        ),
        (
            "invocations answered once, ended with a reason, or waiting for an answer",
            len(conversation.invocations),
            check_invocations(person, conversation),
        ),
        ("histories in which calls were answered once", 1, check_answers_to_calls(conversation)),
        ("jobs answered once", len(conversation.jobs), check_jobs(conversation)),
        ("scheduled tasks done each time", len(conversation.tasks), check_tasks(conversation)),
    ]


def _seen(person: Person, conversation: Conversation) -> list[str]:
    """What came over the sockets is what is stored, to the last character."""
    log, rows = person.page.log, conversation.rows
    if [log[seq] for seq in sorted(log)] == [row.body for row in rows]:
        return []
    return [f"saw {len(log)} events, the log has {len(rows)}, or one differs"]


def _left_over() -> list[str]:
    """Everybody has stopped: a lease that is held, or work that is not at its end, belongs to nobody."""
    problems = [f"{row.client_id} is still {row.status}" for row in Invocation.objects.active()]
    problems += [f"session {row.key} is still leased" for row in Session.objects.exclude(lease_owner="")]
    problems += [f"job {row.id} is still {row.status}, or was not answered" for row in _open_jobs()]
    return problems


def _open_jobs() -> QuerySet[ToolJob]:
    """The jobs that have not ended, or are to be answered, but for those that wait for the person."""
    return (ToolJob.objects.open() | ToolJob.objects.undelivered()).exclude(status="waiting")

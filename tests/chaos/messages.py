"""What must be true of messages and their answers."""

from __future__ import annotations

from collections import Counter

from sessions_app.models import Invocation
from tests.chaos.conversation import Conversation, asks_to_confirm, is_answer, said_in
from tests.chaos.people import Person


def check_messages(person: Person, conversation: Conversation) -> list[str]:
    """Each message is stored once; what was edited away does not count, all else does, in the order it was said."""
    problems = []
    rows = {row.client_id: row for row in conversation.invocations}
    stored = Counter(said_in(event) for event in conversation.events)
    for client_id in person.said:
        if client_id not in rows:
            problems.append(f"{client_id} was lost")
        elif stored[client_id] != _times(rows[client_id]):
            problems.append(f"{client_id}, {rows[client_id].status}, is stored {stored[client_id]} times")
    counting = [said for event in conversation.counting if (said := said_in(event))]
    expected = [known for known in person.standing if known in rows and _times(rows[known])]
    if counting != expected:
        problems.append(f"{counting} count, but {expected} were said and not edited away")
    return problems


def check_invocations(person: Person, conversation: Conversation) -> list[str]:
    """Each has ended for a reason that is known, or really waits; what is completed was answered once."""
    return [
        f"{row.client_id} ({row.invocation_id}) {problem}"
        for row in conversation.invocations
        for problem in (*_end(row, person, conversation), *_answers(row, conversation))
    ]


def _times(row: Invocation) -> int:
    """How often its message belongs into the log: not at all when it was stopped while it waited for its turn."""
    return 0 if row.status == "cancelled" and row.attempts == 0 else 1


def _end(row: Invocation, person: Person, conversation: Conversation) -> list[str]:
    waits = row.invocation_id in conversation.waiting
    match row.status:
        case "waiting":
            return [] if waits else ["waits for nothing"]
        case "completed":
            return ["is completed, but a call of it waits for an answer"] if waits else []
        case "failed":
            return [] if row.error_message else ["failed without a reason"]
        case "cancelled":
            is_wanted = row.client_id in person.stopped or conversation.is_undone(row)
            return [] if is_wanted else ["was stopped, but nobody wanted that"]
        case _:
            return [f"is {row.status}"]


def _answers(row: Invocation, conversation: Conversation) -> list[str]:
    """One that asks for a confirmation is answered by the invocation that brings it."""
    events = conversation.of(row)
    begun = sum(event.author == "user" and event.content is not None for event in events)
    answers = sum(is_answer(event) for event in events)
    expected = 0 if any(asks_to_confirm(event) for event in events) else 1
    problems = [] if begun == _times(row) else [f"has its message {begun} times in the log"]
    if answers > expected or (row.status in ("completed", "waiting") and answers != expected):
        problems.append(f"is {row.status} and was answered {answers} times, not {expected}")
    return problems

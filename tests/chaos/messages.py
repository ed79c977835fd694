"""Checks of messages and their answers."""

from __future__ import annotations

from collections import Counter

from sessions_app.models import Invocation
from tests.chaos.conversation import Conversation, answered_by, asks_to_confirm, is_answer, message_id_in
from tests.chaos.people import Person


def check_messages(person: Person, conversation: Conversation) -> list[str]:
    """Check that each message is stored once, and that the log shows all messages but the edited ones, in order."""
    problems = []
    rows = {row.client_id: row for row in conversation.invocations}
    stored = Counter(message_id_in(event) for event in conversation.events)
    for client_id in person.sent:
        if client_id not in rows:
            problems.append(f"{client_id} was lost")
        elif stored[client_id] != _expected_count(rows[client_id]):
            problems.append(f"{client_id}, {rows[client_id].status}, is stored {stored[client_id]} times")
    current = [sent for event in conversation.current if (sent := message_id_in(event))]
    expected = [id for id in person.unedited if id in rows and _expected_count(rows[id])]
    if current != expected:
        problems.append(f"the log shows {current}, but {expected} were sent and not edited")
    return problems


def check_invocations(person: Person, conversation: Conversation) -> list[str]:
    """Check that each invocation has ended for a known reason or waits for an answer, and was answered once."""
    return [
        f"{row.client_id} ({row.invocation_id}) {problem}"
        for row in conversation.invocations
        for problem in (*_check_status(row, person, conversation), *_check_answers(row, conversation))
    ]


def _expected_count(row: Invocation) -> int:
    """Return how often the log contains the message: not at all when it was stopped while it was queued."""
    return 0 if row.status == "cancelled" and row.attempts == 0 else 1


def _check_status(row: Invocation, person: Person, conversation: Conversation) -> list[str]:
    waits = row.invocation_id in conversation.waiting
    match row.status:
        case "waiting":
            return [] if waits else ["waits for nothing"]
        case "completed":
            return ["is completed, but one of its calls waits for an answer"] if waits else []
        case "failed":
            return [] if row.error_message else ["failed without a reason"]
        case "cancelled":
            is_expected = row.client_id in person.stopped or conversation.is_obsolete(row)
            return [] if is_expected else ["was cancelled without a stop or a rewind"]
        case _:
            return [f"is {row.status}"]


def _check_answers(row: Invocation, conversation: Conversation) -> list[str]:
    """Check for one message and one answer; after a confirmation request the answer is in a later invocation.

    The answers to the questions of a workflow continue its own invocation, which `check_workflows` checks.
    """
    if conversation.is_flow:
        return []
    events = conversation.events_of(row)
    messages = sum(event.author == "user" and event.content is not None for event in events)
    answers = sum(is_answer(event) for event in events)
    expected = 0 if any(asks_to_confirm(event) for event in events) else 1
    problems = []
    if messages != int(_expects_message(row, conversation)):
        problems.append(f"has its message {messages} times in the log")
    if answers > expected or (row.status in ("completed", "waiting") and answers != expected):
        problems.append(f"is {row.status} and was answered {answers} times, not {expected}")
    return problems


def _expects_message(row: Invocation, conversation: Conversation) -> bool:
    """Return True if the log must contain the message of the invocation.

    The answer to a call may be claimed just before its call is rewound. It then ends without any event.
    """
    is_late_answer = row.status == "cancelled" and bool(answered_by(row)) and conversation.is_obsolete(row)
    if is_late_answer and not conversation.events_of(row):
        return False
    return bool(_expected_count(row))

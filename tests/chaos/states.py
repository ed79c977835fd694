"""What must be true of state: in each scope it is what the events say, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from runtime.sessions.deltas import ScopedState
from sessions_app.models import AppState, UserState
from tests.chaos.conversation import Conversation

ABSENT = "absent"
RACED = "notes"
"""The key that all sessions count under; of those that write it at once the last one stays."""

State = dict[str, Any]


def check_session_state(conversation: Conversation) -> list[str]:
    """The log is dense, and the session's state is the fold of its deltas."""
    session, rows = conversation.session, conversation.rows
    problems = []
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)) or session.last_seq != len(rows):
        problems.append("seq is not dense")
    folded = dict(session.initial_state)
    for event in conversation.events:
        folded |= ScopedState.split(event.actions.state_delta).session
    if folded != session.state:
        problems.append(f"state {session.state} is not the fold of the deltas {folded}")
    return problems


def check_shared_states(conversations: Iterable[Conversation]) -> tuple[int, list[str]]:
    """The states of apps, and of users in them, against the events of all their sessions; and how many there are."""
    of_app, of_user = defaultdict[str, list[Conversation]](list), defaultdict[Any, list[Conversation]](list)
    for conversation in conversations:
        session = conversation.session
        of_app[session.app_name].append(conversation)
        of_user[session.app_name, session.user_id].append(conversation)
    problems = []
    for app_name, theirs in of_app.items():
        app = AppState.objects.filter(app_name=app_name).first()
        problems += _check(f"app {app_name}", "app:", app.state if app else {}, theirs)
    for (app_name, user_id), theirs in of_user.items():
        user = UserState.objects.filter(app_name=app_name, user_id=user_id).first()
        problems += _check(f"user {user_id} of {app_name}", "user:", user.state if user else {}, theirs)
    return len(of_app) + len(of_user), problems


def _check(whose: str, prefix: str, state: State, conversations: list[Conversation]) -> list[str]:
    """What one session alone writes is exactly the fold of its deltas; what several write was written one by one."""
    problems = []
    own: State = {}
    for conversation in conversations:
        key = f"notes_{conversation.session.key}"
        counts = [after for _, after in _writes(prefix + key, [conversation])]
        if counts != list(range(1, len(counts) + 1)):
            problems.append(f"{whose}: {key} was counted {counts}")
        own |= {key: counts[-1]} if counts else {}
    stored = {key: value for key, value in state.items() if key != RACED}
    if stored != own:
        problems.append(f"{whose}: {stored} is stored, the fold of the deltas is {own}")
    if state.get(RACED, 0) > sum(own.values()):
        problems.append(f"{whose}: {state[RACED]} of {sum(own.values())} notes are counted")
    for key in {RACED, *own}:
        problems += _broken_chain(whose, key, state, _writes(prefix + key, conversations))
    return problems


def _broken_chain(whose: str, key: str, state: State, writes: list[tuple[Any, Any]]) -> list[str]:
    """Each write found what another one left, the first one nothing; what the last one left is stored."""
    found = [before for before, _ in writes] + [state.get(key, ABSENT)]
    left = [ABSENT] + [after for _, after in writes]
    return (
        []
        if Counter(found) == Counter(left)
        else [f"{whose}: writes of {key} found {found}, but left {left}"]
    )


def _writes(key: str, conversations: list[Conversation]) -> list[tuple[Any, Any]]:
    """What events found under the key, by their rows, and what they left."""
    return [
        ((row.before or {}).get(key, ABSENT), event.actions.state_delta[key])
        for conversation in conversations
        for row, event in zip(conversation.rows, conversation.events, strict=True)
        if key in event.actions.state_delta
    ]

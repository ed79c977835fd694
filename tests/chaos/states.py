"""Checks of state: in every scope the stored state is the result of the events' state deltas."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from runtime.sessions.state import ScopedState
from sessions_app.models import AppState, UserState
from tests.chaos.conversation import Conversation

ABSENT = "absent"
SHARED_COUNTER = "notes"
"""Key that all sessions increment; concurrent increments may overwrite each other, so it may lag behind."""

State = dict[str, Any]


def check_session_state(conversation: Conversation) -> list[str]:
    """Check that the log's sequences are dense and that the session state is the fold of all state deltas."""
    session, rows = conversation.session, conversation.rows
    problems = []
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)) or session.last_seq != len(rows):
        problems.append("the sequences are not dense")
    folded = dict(session.initial_state)
    for event in conversation.events:
        folded |= ScopedState.split(event.actions.state_delta).session
    if folded != session.state:
        problems.append(f"state {session.state} is not the fold of the state deltas {folded}")
    return problems


def check_shared_states(conversations: Iterable[Conversation]) -> tuple[int, list[str]]:
    """Compare app and user states with the events of all their sessions; return their number and the problems."""
    by_app, by_user = defaultdict[str, list[Conversation]](list), defaultdict[Any, list[Conversation]](list)
    for conversation in conversations:
        session = conversation.session
        by_app[session.app_name].append(conversation)
        by_user[session.app_name, session.user_id].append(conversation)
    problems = []
    for app_name, group in by_app.items():
        app = AppState.objects.filter(app_name=app_name).first()
        problems += _check(f"app {app_name}", "app:", app.state if app else {}, group)
    for (app_name, user_id), group in by_user.items():
        user = UserState.objects.filter(app_name=app_name, user_id=user_id).first()
        problems += _check(f"user {user_id} of {app_name}", "user:", user.state if user else {}, group)
    return len(by_app) + len(by_user), problems


def _check(scope: str, prefix: str, state: State, conversations: list[Conversation]) -> list[str]:
    """Check that each session's own counter is exact, and that the writes of every key happened one by one."""
    problems = []
    own: State = {}
    for conversation in conversations:
        key = f"notes_{conversation.session.key}"
        counts = [after for _, after in _writes(prefix + key, [conversation])]
        if counts != list(range(1, len(counts) + 1)):
            problems.append(f"{scope}: {key} was counted {counts}")
        own |= {key: counts[-1]} if counts else {}
    stored = {key: value for key, value in state.items() if key != SHARED_COUNTER}
    if stored != own:
        problems.append(f"{scope}: {stored} is stored, the fold of the state deltas is {own}")
    if state.get(SHARED_COUNTER, 0) > sum(own.values()):
        problems.append(f"{scope}: {state[SHARED_COUNTER]} of {sum(own.values())} notes are counted")
    for key in {SHARED_COUNTER, *own}:
        problems += _check_chain(scope, key, state, _writes(prefix + key, conversations))
    return problems


def _check_chain(scope: str, key: str, state: State, writes: list[tuple[Any, Any]]) -> list[str]:
    """Check that the previous value of each write is the new value of another, and that the last one is stored."""
    previous = [before for before, _ in writes] + [state.get(key, ABSENT)]
    new = [ABSENT] + [after for _, after in writes]
    if Counter(previous) == Counter(new):
        return []
    return [f"{scope}: the writes of {key} replaced the values {previous}, but wrote {new}"]


def _writes(key: str, conversations: list[Conversation]) -> list[tuple[Any, Any]]:
    """Return the previous and the new value of each write of the key."""
    return [
        ((row.before or {}).get(key, ABSENT), event.actions.state_delta[key])
        for conversation in conversations
        for row, event in zip(conversation.rows, conversation.events, strict=True)
        if key in event.actions.state_delta
    ]

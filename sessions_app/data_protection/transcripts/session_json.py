"""Sessions as JSON in the format of google-adk's server, streamed from the stored events."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from django.db.models import Q

from runtime.sessions.state import ScopedState
from sessions_app.history.public_event import public_body
from sessions_app.models import Session, UserState
from sessions_app.process.threads import fetch_rows, in_thread
from sessions_app.sessions.ownership import User
from sessions_app.store.shared_state import BROWSER_TIME_ZONE_KEY, shared_states
from sessions_app.store.sql.event_log import events_after

EVENTS_OF_BATCH = 200
SESSIONS_OF_BATCH = 200


async def stream_session(session: Session, user_id: str) -> AsyncIterator[bytes]:
    """Yield the session with all events up to `last_seq`, rewound events included, without the app's state.

    Args:
        user_id: name of the user in the request, returned unchanged.
    """
    (head,) = await in_thread(_heads, [session], user_id)
    yield b'%s,"events":[' % head
    seq = 0
    separator = ""
    while seq < session.last_seq:
        limit = min(EVENTS_OF_BATCH, session.last_seq - seq)
        rows = await events_after(session.pk, seq, limit)
        if not rows:  # erased in the meantime
            break
        yield f"{separator}{','.join(public_body(body) for _, body in rows)}".encode()
        seq = rows[-1][0]
        separator = ","
    yield b"]}"


async def stream_sessions(user: User, app_name: str, user_id: str) -> AsyncIterator[bytes]:
    """Yield the list of the user's sessions with an app, the latest first, without their events."""
    own = Session.objects.owned_by(user).filter(app_name=app_name).newest_first()
    earlier = own
    separator = b""
    yield b"["
    while rows := await fetch_rows(earlier[:SESSIONS_OF_BATCH]):
        heads = await in_thread(_heads, rows, user_id)
        yield separator + b",".join(b'%s,"events":[]}' % head for head in heads)
        separator = b","
        # By position, not by offset: a session that moves to the top during the download would shift all offsets.
        last = rows[-1]
        earlier = own.filter(
            Q(updated_at=last.updated_at, pk__lt=last.pk) | Q(updated_at__lt=last.updated_at)
        )
    yield b"]"


def state_of_user(session: Session) -> dict[str, Any]:
    """Return the state of the session and of its user without parts hidden from the user."""
    rows = UserState.objects.filter(app_name=session.app_name, user_id=session.user_id)
    stored = rows.values_list("state", flat=True).first() or {}
    return public_state(ScopedState(user=stored, session=session.state))


def public_state(state: ScopedState) -> dict[str, Any]:
    """Return the merged state without the app's state, credentials and the site's notes."""
    own = ScopedState(user=state.user, session=state.session).merged()
    own.pop(BROWSER_TIME_ZONE_KEY, None)
    return {key: value for key, value in own.items() if not _is_credential(value)}


def _is_credential(value: Any) -> bool:
    # Tools may keep a credential under any key, so the shape of the value decides.
    return isinstance(value, Mapping) and bool({"authType", "auth_type"} & value.keys())


def _heads(sessions: list[Session], user_id: str) -> list[bytes]:
    """Return the JSON of each session without its events and its last brace. All sessions are of one user and app."""
    first = sessions[0]
    _, user_states = shared_states(first.app_name, [first.user_id])
    user_state = user_states.get(first.user_id, {})
    return [_head(session, user_state, user_id) for session in sessions]


def _head(session: Session, user_state: dict[str, Any], user_id: str) -> bytes:
    fields = {
        "id": session.key,
        "appName": session.app_name,
        "userId": user_id,
        "state": public_state(ScopedState(user=user_state, session=session.state)),
        "lastUpdateTime": session.last_event_at.timestamp(),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[:-1].encode()

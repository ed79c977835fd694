"""App and user state outside the hot path: creating and listing sessions, and the time zone of a browser."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from runtime.sessions.state import ScopedState, State
from sessions_app.errors import StateChangedError
from sessions_app.models import AppState, UserState

BROWSER_TIME_ZONE = "browser_time_zone"
BROWSER_TIME_ZONE_KEY = f"{State.USER_PREFIX}{BROWSER_TIME_ZONE}"
"""Key of the user's state with the time zone in the browser that last showed a chat with the app: the browser's, or the
zone that the user has chosen there."""


def remember_time_zone(app_name: str, user: Any, time_zone: str) -> None:
    """Store the browser's time zone in the user's state."""
    # The condition spares a write and a row lock each time the same time zone is sent, which is the usual case.
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_userstate AS t (app_name, user_id, state) VALUES (%s, %s, %s::jsonb) "
            "ON CONFLICT (app_name, user_id) DO UPDATE SET state = t.state || EXCLUDED.state "
            "WHERE NOT t.state @> EXCLUDED.state",
            [app_name, user, json.dumps({BROWSER_TIME_ZONE: time_zone})],
        )


def change_user_state(app_name: str, user: Any, changes: Mapping[str, Any], seen: Mapping[str, str]) -> None:
    """Change values of the user's state, unless they have changed since the user saw them.

    Args:
        changes: new values by key, without the prefix of the scope. None stands for a deleted value.
        seen: MD5 of the values seen, as PostgreSQL writes them; keys without a value are absent.

    Raises:
        StateChangedError: a value has changed since the user saw it. Nothing is changed.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # The row is created first: of two changes at once to a user without state, one must wait for the other.
        cursor.execute(
            "INSERT INTO sessions_app_userstate (app_name, user_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [app_name, user],
        )
        cursor.execute(
            "WITH old AS (SELECT state FROM sessions_app_userstate WHERE app_name = %s AND user_id = %s FOR UPDATE) "
            "SELECT v.key, md5(v.value::text) FROM old, jsonb_each(old.state) v "
            "WHERE v.key = ANY(%s) AND v.value <> 'null'",
            [app_name, user, list(changes)],
        )
        if dict(cursor.fetchall()) != seen:
            raise StateChangedError
        cursor.execute(
            "UPDATE sessions_app_userstate SET state = state || %s::jsonb WHERE app_name = %s AND user_id = %s",
            [json.dumps(changes), app_name, user],
        )


def merge_shared_state(app_name: str, user: Any, scoped: ScopedState) -> None:
    """Merge the `user:` and `app:` parts of a delta, one statement each."""
    # Lock order: user state before app state, as in an append. The rows are created even for an empty delta: an append
    # reads the old value of a key from a locked row (contract S2).
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_userstate AS t (app_name, user_id, state) VALUES (%s, %s, %s::jsonb) "
            "ON CONFLICT (app_name, user_id) DO UPDATE SET state = t.state || EXCLUDED.state "
            "WHERE EXCLUDED.state <> '{}'",
            [app_name, user, json.dumps(scoped.user)],
        )
        cursor.execute(
            "INSERT INTO sessions_app_appstate AS t (app_name, state) VALUES (%s, %s::jsonb) "
            "ON CONFLICT (app_name) DO UPDATE SET state = t.state || EXCLUDED.state WHERE EXCLUDED.state <> '{}'",
            [app_name, json.dumps(scoped.app)],
        )


def shared_states(app_name: str, users: Iterable[Any]) -> tuple[dict[str, Any], dict[Any, dict[str, Any]]]:
    """Return the app's state, and the users' states by primary key of the user."""
    app = AppState.objects.filter(app_name=app_name).values_list("state", flat=True).first() or {}
    rows = UserState.objects.filter(app_name=app_name, user_id__in=list(users))
    return app, {row.user_id: row.state for row in rows}


def length_of_state(app_name: str, user: Any, session_id: UUID | None, replaced: ScopedState) -> int:
    """Return the length of a session's and its user's state, without the replaced keys, in characters of JSON."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE((SELECT length((state - %s::text[])::text) FROM sessions_app_session WHERE id = %s), 0) "
            "+ COALESCE((SELECT length((state - %s::text[])::text) FROM sessions_app_userstate "
            "WHERE app_name = %s AND user_id = %s), 0)",
            [list(replaced.session), session_id, list(replaced.user), app_name, user],
        )
        (length,) = cursor.fetchone()
    return int(length)

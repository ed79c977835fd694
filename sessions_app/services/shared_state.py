"""App and user state outside the hot path: at a session's creation, in lists."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db import connection

from runtime.sessions.deltas import ScopedState
from sessions_app.models import AppState, UserState


def merge_shared_state(app_name: str, user: Any, scoped: ScopedState) -> None:
    """Merge the `user:` and `app:` parts of a delta, in one statement each: the user's first, as an append does.

    The rows are made in any case: an append finds what a key held before in the row that it locks (S2).
    """
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
    """The state of the app, and of each user in it."""
    app = AppState.objects.filter(app_name=app_name).values_list("state", flat=True).first() or {}
    rows = UserState.objects.filter(app_name=app_name, user_id__in=list(users))
    return app, {row.user_id: row.state for row in rows}

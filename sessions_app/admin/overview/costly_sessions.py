"""Rows of the sessions that have cost most, in the order of an index."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from sessions_app.admin.links import session_url
from sessions_app.admin.permissions import OF_SESSION, Right, may, within_remits
from sessions_app.models import SessionFigures
from sessions_app.rendering.audit_values import format_cost

MAX_SESSIONS = 10


def load_costly_sessions(request: HttpRequest) -> list[dict[str, Any]]:
    """Return rows of sessions within the remits of the user, the most expensive first, in one query.

    Staff without the right to read texts get keys in place of titles, which are words of conversations.
    """
    figures = SessionFigures.objects.filter(cost__gt=0, session__deleted_at=None)
    found = within_remits(request, figures, OF_SESSION).select_related("session__user").order_by("-cost")
    may_read = may(request, Right.VIEW_TEXT)
    may_open = may_read and may(request, "sessions_app.view_session")
    shown = found.only(
        "tokens", "cost", "session__app_name", "session__key", "session__title", "session__user"
    )
    return [
        {
            "url": session_url(row.session_id) if may_open else "",
            "name": (may_read and row.session.title) or row.session.key,
            "app": row.session.app_name,
            "person": row.session.user.get_username(),
            "tokens": f"{row.tokens:,}",
            "cost": format_cost(row.cost),
        }
        for row in shown[:MAX_SESSIONS]
    ]

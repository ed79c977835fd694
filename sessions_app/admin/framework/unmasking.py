"""Grants to see masked values: for one session, for some minutes, in one sign-in, for a recorded reason.

A grant is in the session of the sign-in, not in a table: it ends with the sign-in, and is no right of the account.
"""

import time
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone

from sessions_app.admin.framework.permissions import Right, may
from sessions_app.conf import conf
from sessions_app.secrets.masking import unmask

KEY = "adk_unmasked"
"""Key in the session of a sign-in. The value has the end of each grant in seconds since the epoch, by session id."""


def grant_unmasking(request: HttpRequest, session_id: UUID) -> None:
    """Let the user see the masked values of a session for `unmask_seconds`. Drop ended grants."""
    grants = {key: until for key, until in request.session.get(KEY, {}).items() if until > time.time()}
    request.session[KEY] = {**grants, str(session_id): time.time() + conf().unmask_seconds}


def end_unmasking(request: HttpRequest, session_id: UUID) -> None:
    """Mask the values of the session again."""
    grants = request.session.get(KEY, {})
    request.session[KEY] = {key: until for key, until in grants.items() if key != str(session_id)}


def unmask_if_granted(request: HttpRequest, session_id: UUID | None) -> datetime | None:
    """Unmask the response if the user has a grant for its session; return the end of the grant or None."""
    until = request.session.get(KEY, {}).get(str(session_id), 0)
    # The right is checked again: somebody may have taken it away since the grant.
    if until <= time.time() or not may(request, Right.UNMASK):
        return None
    unmask()
    return datetime.fromtimestamp(until, timezone.get_current_timezone())

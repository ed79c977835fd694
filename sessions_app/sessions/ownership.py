"""Access to a session for pages, downloads and frames: only its owner has access."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from django.utils.translation import gettext_noop

from sessions_app.base.codec import is_storable
from sessions_app.errors import NotFoundError
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.store.sql.event_log import find_session

User = AbstractBaseUser | AnonymousUser
NO_SESSION = gettext_noop("There is no such conversation here.")


async def own_session(user: User, session_id: UUID) -> Session:
    """Return the user's session.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    session = await in_thread(Session.objects.owned_by(user).filter(pk=session_id).first)
    if session is None:
        raise NotFoundError(NO_SESSION)
    return session


@dataclass(frozen=True)
class OwnSession:
    """The columns of a person's session that a run needs."""

    pk: UUID
    user_id: Any
    last_seq: int


async def find_own_session(user: AbstractBaseUser, app_name: str, key: str) -> OwnSession:
    """Find the same session as `own_session_by_key`, without a thread, because every run of the ADK API needs it.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    found = None
    if is_storable(key) and is_storable(app_name):
        found = await find_session((app_name, user.pk, key))
    if found is None:
        raise NotFoundError(NO_SESSION)
    return OwnSession(found[0], user.pk, found[1])


async def own_session_by_key(user: User, app_name: str, key: str) -> Session:
    """Return the user's session with an app by its key, which is the session id of the ADK API.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    session = None
    if is_storable(key) and is_storable(app_name):
        own = Session.objects.owned_by(user).filter(app_name=app_name, key=key)
        session = await in_thread(own.first)
    if session is None:
        raise NotFoundError(NO_SESSION)
    return session


async def own_session_or_404(user: User, session_id: UUID) -> Session:
    """Return the user's session for a view; raises `Http404` where `own_session` raises `NotFoundError`."""
    try:
        return await own_session(user, session_id)
    except NotFoundError as error:
        raise Http404(str(error)) from error

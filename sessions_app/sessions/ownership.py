"""Access to sessions by their owner.

A session of another user is reported like a missing session, here and everywhere: an id must not tell whether it
exists.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404
from django.utils.translation import gettext_noop

from sessions_app.base.codec import is_storable
from sessions_app.conf import HIDDEN, conf
from sessions_app.errors import NotFoundError
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.store.packs import open_if_packed
from sessions_app.store.sql.event_log import find_session

User = AbstractBaseUser | AnonymousUser
NO_SESSION = gettext_noop("There is no such chat here.")


async def own_session(user: User, session_id: UUID) -> Session:
    """Return the user's session, with its events in the tables.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
        FilesUnavailableError, LostPackError: as `store.packs.open_pack`.
    """
    session = await own_session_row(user, session_id)
    await open_if_packed(session)
    return session


async def own_session_row(user: User, session_id: UUID) -> Session:
    """Return the user's session for a change of its row, such as a deletion: its events may be in a pack.

    Raises:
        NotFoundError: as `own_session`.
    """
    session = await in_thread(Session.objects.owned_by(user).filter(pk=session_id).first)
    if session is None:
        raise NotFoundError(NO_SESSION)
    return session


@dataclass(frozen=True)
class OwnSession:
    """Columns of a session that a run needs."""

    pk: UUID
    user_id: Any
    last_seq: int


async def find_own_session(user: AbstractBaseUser, app_name: str, key: str) -> OwnSession:
    """Return the columns of the session that `own_session_by_key` returns.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    # On the asynchronous pool, without the ORM's thread: every run of the ADK API begins here.
    found = None
    is_hidden = conf().access_of(app_name) == HIDDEN
    if is_storable(key) and is_storable(app_name) and not is_hidden:
        found = await find_session((app_name, user.pk, key))
    if found is None:
        raise NotFoundError(NO_SESSION)
    return OwnSession(found[0], user.pk, found[1])


async def own_session_by_key(user: User, app_name: str, key: str) -> Session:
    """Return the user's session with an app by its key, the session id of the ADK API.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    session = None
    # PostgreSQL refuses NUL and half surrogate pairs with an error.
    if is_storable(key) and is_storable(app_name):
        own = Session.objects.owned_by(user).filter(app_name=app_name, key=key)
        session = await in_thread(own.first)
    if session is None:
        raise NotFoundError(NO_SESSION)
    await open_if_packed(session)
    return session


async def own_session_or_404(user: User, session_id: UUID) -> Session:
    """Return the user's session for a view; raises `Http404` where `own_session` raises `NotFoundError`."""
    try:
        return await own_session(user, session_id)
    except NotFoundError as error:
        raise Http404(str(error)) from error

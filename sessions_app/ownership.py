"""Access to a session: only its owner has any, for pages, downloads and frames alike."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404

from sessions_app import agent_registry
from sessions_app.db.threads import in_thread
from sessions_app.errors import NotFoundError
from sessions_app.models import Session

User = AbstractBaseUser | AnonymousUser


async def own_session(user: User, session_id: UUID) -> Session:
    """Return the user's session.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
    """
    session = await in_thread(Session.objects.owned_by(user).filter(pk=session_id).first)
    if session is None:
        raise NotFoundError("There is no such conversation here.")
    return session


async def may_create_session(app_name: str, session_id: UUID) -> bool:
    """True when the site has the app and no session, of anybody, has the id."""
    return app_name in agent_registry.apps() and not await in_thread(
        Session.objects.filter(pk=session_id).exists
    )


async def own_session_or_404(user: User, session_id: UUID) -> Session:
    """Return the user's session for a view; raises `Http404` where `own_session` raises `NotFoundError`."""
    try:
        return await own_session(user, session_id)
    except NotFoundError as error:
        raise Http404(str(error)) from error

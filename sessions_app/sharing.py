"""Sharing of sessions: the owner makes and revokes a link, staff may revoke it, people of the site read by it."""

from __future__ import annotations

from django.db.models.functions import Now

from sessions_app.actors import Actor
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.models import Session, ShareLink
from sessions_app.models.share_link import ShareLinkQuerySet


def active_link(session: Session) -> ShareLink | None:
    """Return the session's link; None when the session is not shared."""
    return ShareLink.objects.active().filter(session=session).first()


def make_link(session: Session) -> ShareLink:
    """Return the session's link; a new one when there is none."""
    link, _ = ShareLink.objects.get_or_create(session=session, revoked_at=None)
    return link


def revoke_links(links: ShareLinkQuerySet, by: Actor) -> None:
    """Revoke those of the links that are in force."""
    links.active().update(revoked_at=Now(), revoked_by_name=by.name)


def shared_session(token: str) -> Session:
    """Return the session of a link, with its owner.

    Raises:
        NotFoundError: the site has no such link in force, or the session is deleted.
    """
    sessions = Session.objects.select_related("user").filter(deleted_at=None)
    links = ShareLink.objects.active().filter(token=token)
    session = sessions.filter(pk__in=links.values("session")).first() if conf().share_links else None
    if session is None:
        raise NotFoundError("There is no such shared conversation.")
    return session

"""Sharing of sessions by links. The owner makes and revokes a link, staff may revoke it; signed-in users read by it."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.models import Session, SessionAct, ShareLink
from sessions_app.models.share_link import ShareLinkQuerySet
from sessions_app.sessions.agent_access import usable_names
from sessions_app.store.packs import open_pack


def active_link(session: Session) -> ShareLink | None:
    """Return the session's link; None if the session is not shared."""
    return ShareLink.objects.active().filter(session=session).first()


def make_link(session: Session, by: Actor) -> ShareLink:
    """Return the session's link; make a link and record the act if there is none."""
    with transaction.atomic():
        link, is_new = ShareLink.objects.get_or_create(session=session, revoked_at=None)
        if is_new:
            SessionAct.objects.record(session.pk, Act(by, ActionKind.SHARE, ("sharelink", str(link.pk))))
    return link


def revoke_links(links: ShareLinkQuerySet, by: Actor) -> None:
    """Revoke the active links among `links`, and record the acts."""
    for link_pk, session_id in links.active().values_list("pk", "session_id"):
        with transaction.atomic():
            SessionAct.objects.record(session_id, Act(by, ActionKind.REVOKE, ("sharelink", str(link_pk))))
            active = ShareLink.objects.active().filter(pk=link_pk)
            if not active.update(revoked_at=Now(), revoked_by_name=by.name):  # Somebody else was faster.
                transaction.set_rollback(True)


def shared_session(token: str, reader_pk: Any) -> Session:
    """Return the session of a link, with its owner, for a user who may use its app.

    Raises:
        NotFoundError: the site has no such link in force, the session is deleted, or the user may not use the app.
    """
    sessions = Session.objects.select_related("user").filter(deleted_at=None)
    links = ShareLink.objects.active().filter(token=token)
    session = sessions.filter(pk__in=links.values("session")).first() if conf().share_links else None
    if session is None or not usable_names(reader_pk, [session.app_name]):
        raise NotFoundError("There is no such shared chat.")
    open_pack(session)
    return session

"""Use cases about a session as a whole: create it, change it, mark its events as seen."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from uuid import UUID, uuid4

from runtime.errors import AlreadyExistsError
from sessions_app.agent_apps import registry
from sessions_app.base.actors import UserActor
from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError, NotFoundError, SecondPersonError
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.live.process import live
from sessions_app.models import GuardedAct, Session
from sessions_app.process.threads import in_thread, limit_threads
from sessions_app.sessions.agent_access import may_use, usable_app
from sessions_app.sessions.list import changes
from sessions_app.sessions.ownership import User, own_session, own_session_row
from sessions_app.store.session_service import DjangoSessionService


async def create_session(
    user: User, app_name: str, network: str = "", *, session_id: UUID | None = None
) -> Session:
    """Create a session of the user with an app of the site.

    Args:
        network: network of the client, for its quota; empty without a client.
        session_id: primary key and key of the session. With it the call is idempotent: the user's session with this id
            is returned.

    Raises:
        NotFoundError: the user may use no such app, or the session belongs to someone else or is deleted.
        LimitExceededError: too many sessions were created by the user or from the network.
    """
    app = await usable_app(user, app_name)
    pk = session_id or uuid4()
    if session_id is None or not await in_thread(Session.objects.filter(pk=pk).exists):
        await count_new_session(user, network)  # a repeated request does not count again
        with suppress(AlreadyExistsError):  # another tab has just created it
            await DjangoSessionService().create_session(
                app_name=app.name, user_id=str(user.pk), session_id=str(pk), pk=pk
            )
    return await own_session(user, pk)


async def may_create_session(user: User, app_name: str, session_id: UUID) -> bool:
    """True if the user may use the app and no session, of any user, has the id."""
    if app_name not in registry.apps() or not await may_use(user.pk, app_name):
        return False
    return not await in_thread(Session.objects.filter(pk=session_id).exists)


async def count_new_session(user: User, network: str) -> None:
    """Count a session that the user is about to create.

    Raises:
        LimitExceededError: too many sessions were created by the user or from the network.
    """
    # Unlike frames, counted with the current counts of all processes: creations are rare enough to wait for Redis.
    exceeded = await limit_threads.run(rates().count_now, quotas.new_sessions(user.pk, network))
    if exceeded is not None:
        minutes = ceil(exceeded.seconds / 60)
        raise LimitExceededError(
            f"{exceeded.quota.most} chats were begun here within an hour. Try again in {minutes} "
            "minutes, or go on in one that you have.",
            retry_seconds=exceeded.seconds,
        )


async def change_session(by: UserActor, session_id: UUID, change: str, title: str = "") -> None:
    """Make one of `CHANGES` (see `sessions.list.changes`) to the user's session. `restore` undoes a deletion.

    Raises:
        NotFoundError: the user has no such session, or it is erased already.
        InvalidInputError: the new title is empty or too long.
        LegalHoldError: the session must not be deleted.
        SecondPersonError: staff may delete it only with a second person, and the actor is the key of a service.
    """
    if change == changes.DELETE and by.is_service and GuardedAct.ERASE in conf().second_person_for:
        raise SecondPersonError
    if change == changes.RESTORE:
        # `own_session` does not find deleted sessions.
        session = await in_thread(Session.objects.of_user(by.user).filter(pk=session_id).first)
        if session is None:
            raise NotFoundError(changes.GONE)
        if session.deleted_at is None:  # restored already: a repeated request records no second act
            return
    else:
        session = await own_session_row(by.user, session_id)
    await in_thread(changes.change_session, session, change, title, by)
    live().list_news.publish(by.user_pk)
    if change == changes.DELETE:
        live().hub.receive_deletion(session_id)


async def edit_session(
    by: UserActor, session_id: UUID, wanted: Sequence[str], title: str, check: Callable[[Session], None]
) -> None:
    """Make several of `CHANGES` to the user's session, all or none.

    Args:
        check: called with the session, its row locked; raises if the session has changed since the user read it.

    Raises the same as `change_session`, and what `check` raises.
    """
    own = Session.objects.owned_by(by.user).filter(pk=session_id)
    await in_thread(changes.change_together, own, wanted, title, by, check)
    live().list_news.publish(by.user_pk)


async def mark_seen(user: User, session_id: UUID, seq: int) -> None:
    """Mark the session as seen up to the event `seq`."""
    own = Session.objects.owned_by(user).filter(pk=session_id)
    if await in_thread(changes.mark_seen, own, seq):
        live().list_news.publish(user.pk)

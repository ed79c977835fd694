"""Rows within reach of a caller: sessions of the users for whom it acts, and rows of these sessions.

A row out of reach is reported as missing, whoever owns it.
"""

from typing import TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from sessions_app.api.access.callers import Caller
from sessions_app.base.codec import is_storable
from sessions_app.errors import NotFoundError
from sessions_app.models import AnswerRequest, Invocation, ScheduledTask, Scope, Session, ToolJob
from sessions_app.models.api_key import users_of_keys
from sessions_app.models.session import of_shown_apps
from sessions_app.process.threads import in_thread
from sessions_app.sessions.list.listing import LARGE_COLUMNS
from sessions_app.sessions.ownership import NO_SESSION
from sessions_app.store.packs import open_if_packed

LARGE_OF_SESSION = tuple(f"session__{column}" for column in LARGE_COLUMNS)
M = TypeVar("M", Invocation, ToolJob, ScheduledTask, AnswerRequest)


def reach(caller: Caller, user: str) -> Q:
    """Return the filter for rows of the users for whom the caller acts, without rows of hidden apps.

    Args:
        user: lookup of a row's user, `user` or `session__user`.
    """
    within = Q(**{user: caller.user.pk})
    if caller.key is not None and caller.key.people_id is not None:
        within |= Q(**{f"{user}__in": users_of_keys([caller.key.people_id]).values("pk")})
    return within & of_shown_apps(user.replace("user", "app_name"))


async def reachable_session(
    caller: Caller, session_id: UUID, scope: Scope, *, deleted: bool = False
) -> Session:
    """Return a session within reach, with its user.

    Args:
        deleted: True to include deleted sessions, until they are erased.

    Raises:
        PermissionDeniedError: the caller's key lacks the scope.
        NotFoundError: there is no such session within reach.
    """
    caller.require(scope)
    rows = Session.objects.filter(reach(caller, "user"), pk=session_id)
    if not deleted:
        rows = rows.filter(deleted_at=None)
    session = await _first_or_not_found(rows.select_related("user"), NO_SESSION)
    if scope != Scope.MANAGE:  # which changes the row only
        await open_if_packed(session)
    return session


async def reachable_run(caller: Caller, run_id: str, scope: Scope) -> Invocation:
    """Return an invocation within reach, with its session and user. Raises the same as `reachable_session`."""
    rows = (
        Invocation.objects.filter(invocation_id=run_id) if is_storable(run_id) else Invocation.objects.none()
    )
    rows = rows.without_details()
    return await _reachable_row(caller, rows, scope, "There is no such run here.")


async def reachable_job(caller: Caller, job_id: UUID, scope: Scope) -> ToolJob:
    """Return a job within reach, with its session and user. Raises the same as `reachable_session`."""
    return await _reachable_row(
        caller, ToolJob.objects.filter(pk=job_id), scope, "There is no such job here."
    )


async def reachable_schedule(caller: Caller, schedule_id: int, scope: Scope) -> ScheduledTask:
    """Return a scheduled task within reach, with its session and user. Raises the same as `reachable_session`."""
    rows = ScheduledTask.objects.filter(pk=schedule_id)
    return await _reachable_row(caller, rows, scope, "There is no such scheduled task here.")


async def reachable_approval(caller: Caller, approval_id: int, scope: Scope) -> AnswerRequest:
    """Return an open answer request within reach, with its session and user. Raises the same as `reachable_session`."""
    rows = AnswerRequest.objects.open().filter(pk=approval_id).select_related("job")
    return await _reachable_row(
        caller, rows, scope, "There is no such approval here, or it was given already."
    )


async def _reachable_row(caller: Caller, rows: QuerySet[M], scope: Scope, missing: str) -> M:
    caller.require(scope)
    # The session's state may be large, and no operation on its rows needs it.
    own = rows.filter(reach(caller, "session__user"), session__deleted_at=None)
    row = await _first_or_not_found(own.select_related("session__user").defer(*LARGE_OF_SESSION), missing)
    await open_if_packed(row.session)
    return row


T = TypeVar("T", bound=Model)


async def _first_or_not_found(rows: QuerySet[T], missing: str) -> T:
    row = await in_thread(rows.first)
    if row is None:
        raise NotFoundError(missing)
    return row

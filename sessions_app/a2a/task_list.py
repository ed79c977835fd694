"""List of a person's tasks with an app, in pages. The first invocations of tasks are the rows of the list."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from uuid import UUID

from a2a.types import ListTasksRequest
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    decode_list_tasks_cursor,
    encode_list_tasks_cursor,
    validate_history_length,
    validate_page_size,
)
from django.db.models import Q

from sessions_app import client_ids
from sessions_app.a2a.conversion import status_of
from sessions_app.a2a.tasks import SiteTask, load_task
from sessions_app.codec import is_storable
from sessions_app.db.threads import in_thread
from sessions_app.errors import NotFoundError
from sessions_app.models import Invocation
from sessions_app.models.invocation import InvocationQuerySet
from sessions_app.ownership import User

CONTINUATIONS = (client_ids.ANSWER, client_ids.JOB, client_ids.RETRY)
"""Prefixes of invocations that belong to the task of an earlier one."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TaskPage:
    """One page of the list.

    Attributes:
        next_token: token of the next page; empty on the last one.
        count: number of tasks on all pages. Those that the filters by state and time leave out are counted, too.
    """

    tasks: Sequence[SiteTask]
    next_token: str
    size: int
    count: int


async def find_tasks(user: User, app_name: str, request: ListTasksRequest) -> TaskPage:
    """Return tasks of the user with an app, those that began last first.

    The state of a task is not stored. A page that is filtered by it, or by its time, may have fewer tasks than its
    size, and be followed by others.

    Raises:
        InvalidParamsError: the size, the length of the history or the token is wrong.
    """
    validate_history_length(request)
    if request.HasField("page_size"):
        validate_page_size(request.page_size)
    size = request.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
    rows, count = await in_thread(
        _rows, _first_invocations(user, app_name, request), request.page_token, size + 1
    )
    tasks = []
    for row in rows[:size]:
        with suppress(NotFoundError):  # Its session was erased meanwhile.
            tasks.append(await load_task(row))
    return TaskPage(
        tasks=[task for task in tasks if _is_asked_for(task, request)],
        next_token=_token_after(rows[size - 1]) if len(rows) > size else "",
        size=size,
        count=count,
    )


def _first_invocations(user: User, app_name: str, request: ListTasksRequest) -> InvocationQuerySet:
    own = Invocation.objects.filter(
        session__user=user.pk, session__app_name=app_name, session__deleted_at=None
    )
    found = own.exclude(reduce(or_, (Q(client_id__startswith=prefix) for prefix in CONTINUATIONS)))
    if request.context_id:
        try:
            found = found.filter(session=UUID(request.context_id))
        except ValueError:
            return found.none()
    return found


def _is_asked_for(task: SiteTask, request: ListTasksRequest) -> bool:
    is_early = request.HasField("status_timestamp_after") and (
        status_of(task).timestamp.ToNanoseconds() < request.status_timestamp_after.ToNanoseconds()
    )
    return request.status in (0, task.state) and not is_early


def _rows(found: InvocationQuerySet, token: str, most: int) -> tuple[list[Invocation], int]:
    listed = found.select_related("session").without_details()
    return list(listed.filter(_after(token)).order_by("-created_at", "-invocation_id")[:most]), found.count()


def _token_after(row: Invocation) -> str:
    nanoseconds = (row.created_at - _BEGINNING) // timedelta(microseconds=1) * 1_000
    return encode_list_tasks_cursor(ListTasksCursor(nanoseconds, row.invocation_id))


def _after(token: str) -> Q:
    if not token:
        return Q()
    cursor = decode_list_tasks_cursor(token)
    try:
        if cursor is None or not is_storable(cursor.task_id):
            raise ValueError
        time = _BEGINNING + timedelta(microseconds=(cursor.timestamp_ns or 0) // 1_000)
    except (ValueError, OverflowError):
        raise InvalidParamsError(
            "The pageToken is not one of this list. Begin with the first page."
        ) from None
    return Q(created_at__lt=time) | Q(created_at=time, invocation_id__lt=cursor.task_id)

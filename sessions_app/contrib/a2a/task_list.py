"""Pages of a user's tasks with an app.

Tasks are not stored, so the list is a list of invocations, by time of last change. An invocation stands for its task
if it is the task's last invocation; the others are skipped. The state is known only after a task is loaded, so a filter
by state also skips rows, and a page may be short although others follow.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
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
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from sessions_app.api.tasks.site_task import CONTINUATIONS, SiteTask, first_invocation, load_task
from sessions_app.base.codec import is_storable
from sessions_app.contrib.a2a.conversion import state_of
from sessions_app.errors import LostPackError, NotFoundError
from sessions_app.models import Invocation
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User

MAX_ROUNDS = 5
"""Maximum pages of rows to read for one page of tasks. It bounds a request whose filter matches almost nothing."""
_IS_CONTINUATION = reduce(or_, (Q(client_id__startswith=prefix) for prefix in CONTINUATIONS))
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TaskPage:
    """One page of the list.

    Attributes:
        next_token: token of the next page; empty on the last page.
        count: number of tasks on all pages, regardless of filters by state and time.
    """

    tasks: Sequence[SiteTask]
    next_token: str
    size: int
    count: int


async def find_tasks(user: User, app_name: str, request: ListTasksRequest) -> TaskPage:
    """Return a page of the user's tasks with an app, latest change of status first.

    Raises:
        InvalidParamsError: the page size, the history length or the token is invalid.
    """
    validate_history_length(request)
    if request.HasField("page_size"):
        validate_page_size(request.page_size)
    size = request.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
    token = request.page_token
    found = _invocations(user, app_name, request)
    is_more = True
    # Each task has one invocation that continues no other: its first.
    count = await in_thread(found.exclude(_IS_CONTINUATION).count)
    if request.HasField("status_timestamp_after"):
        found = found.filter(changed_at__gte=request.status_timestamp_after.ToDatetime(tzinfo=UTC))
    tasks: list[SiteTask] = []
    for _ in range(MAX_ROUNDS):
        rows = await in_thread(_rows, found, token, size + 1)
        for row in rows[:size]:
            token = _token_after(row)
            task = await _task_that_ends_with(row)
            if task and request.status in (0, state_of(task)):  # 0 is the unset value of the field.
                tasks.append(task)
            if len(tasks) == size:
                break
        is_more = bool(rows) and token != _token_after(rows[-1])
        if len(tasks) == size or not is_more:
            break
    return TaskPage(tasks, token if is_more else "", size, count)


def _invocations(user: User, app_name: str, request: ListTasksRequest) -> QuerySet[Any]:
    """Return the user's invocations with the app or in a context, annotated with the time of their last change."""
    found = (
        Invocation.objects.without_details()
        .filter(session__user=user.pk, session__app_name=app_name, session__deleted_at=None)
        .annotate(changed_at=Coalesce("finished_at", "started_at", "created_at"))
    )
    if request.context_id:
        try:
            found = found.filter(session=UUID(request.context_id))
        except ValueError:
            return found.none()
    return found


async def _task_that_ends_with(row: Invocation) -> SiteTask | None:
    """Return the task whose last invocation is `row`; None if a later invocation continues the task, or it is lost."""
    # The session may have been erased after the rows were read. One lost pack must not hide the other tasks.
    with suppress(NotFoundError, LostPackError):
        first = await in_thread(first_invocation, row)
        if first is not None:
            task = await load_task(first)
            if task.invocations[-1].pk == row.pk:
                return task
    return None


def _rows(found: QuerySet[Any], token: str, most: int) -> list[Invocation]:
    listed = found.select_related("session")
    return list(listed.filter(_after(token)).order_by("-changed_at", "-invocation_id")[:most])


def _token_after(row: Invocation) -> str:
    changed_at = row.finished_at or row.started_at or row.created_at
    # In integers: a float of seconds since 1970 is not exact to the microsecond, and rows would repeat or be lost.
    nanoseconds = (changed_at - _BEGINNING) // timedelta(microseconds=1) * 1_000
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
    return Q(changed_at__lt=time) | Q(changed_at=time, invocation_id__lt=cursor.task_id)

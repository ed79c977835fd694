"""Open work: how much waits and runs now, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.overview.links import OverviewLinks
from sessions_app.admin.permissions import OF_SESSION, within_remits
from sessions_app.models import AnswerRequest, Invocation, InvocationStatus, JobStatus, ToolJob
from sessions_app.rendering.audit_values import format_duration

MAX_COUNTED = 1_000


@dataclass(frozen=True)
class Tile:
    """A number with its link.

    Attributes:
        note: text below the number.
    """

    title: str | Promise
    value: str
    url: str = ""
    note: str | Promise = ""


def load_tiles(request: HttpRequest, links: OverviewLinks) -> list[Tile]:
    """Return the tiles of waiting and running work."""
    invocations = within_remits(request, Invocation.objects.all(), OF_SESSION)
    jobs = within_remits(request, ToolJob.objects.all(), OF_SESSION)
    requests = within_remits(request, AnswerRequest.objects.open(), OF_SESSION)
    queued = invocations.filter(status=InvocationStatus.QUEUED)
    waits = [
        (_("Waiting in the queue"), queued, "created_at", "invocation", InvocationStatus.QUEUED),
        (_("Running now"), invocations.filter(status=InvocationStatus.RUNNING), "created_at", "invocation",
         InvocationStatus.RUNNING),
        (_("Waiting for an answer"), requests, "asked_at", "answerrequest", ""),
        (_("Running jobs"), jobs.filter(status=JobStatus.RUNNING), "created_at", "tooljob", JobStatus.RUNNING),
        (_("Queued jobs"), jobs.filter(status=JobStatus.QUEUED, delivered_at=None), "created_at", "tooljob",
         JobStatus.QUEUED),
    ]  # fmt: skip
    return [
        Tile(
            title,
            *_count_and_age(
                rows, column, links.list_url(model, **({"status__exact": status} if status else {}))
            ),
        )
        for title, rows, column, model, status in waits
    ]


def _count_and_age(rows: QuerySet[Any], column: str, url: str) -> tuple[str, str, str]:
    """Return the number of rows as text, at most `MAX_COUNTED`; their URL; and the age of the oldest as a sentence."""
    # Rows instead of a COUNT: the query ends after the limit, and the same rows tell the age of the oldest.
    times: list[datetime] = list(rows.order_by("id").values_list(column, flat=True)[: MAX_COUNTED + 1])
    number = f"{len(times):,}" if len(times) <= MAX_COUNTED else f"{MAX_COUNTED:,}+"
    if not times:
        return number, url, ""
    return number, url, str(_("oldest: %s") % format_duration(timezone.now() - min(times)))

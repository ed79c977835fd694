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
    return [
        _tile(_("Waiting in the queue"), invocations, links, status=InvocationStatus.QUEUED),
        _tile(_("Running now"), invocations, links, status=InvocationStatus.RUNNING),
        _tile(_("Waiting for an answer"), requests, links, began="asked_at"),
        _tile(_("Running jobs"), jobs, links, status=JobStatus.RUNNING),
        _tile(_("Queued jobs"), jobs.filter(delivered_at=None), links, status=JobStatus.QUEUED),
    ]


def _tile(
    title: Promise, rows: QuerySet[Any], links: OverviewLinks, *, status: str = "", began: str = "created_at"
) -> Tile:
    """Return the tile with the number of rows, at most `MAX_COUNTED`, and the age of the oldest as a note."""
    query = {}
    if status:
        rows = rows.filter(status=status)
        query["status__exact"] = status
    # Rows instead of a COUNT: the query ends after the limit, and the same rows tell the age of the oldest.
    times: list[datetime] = list(rows.order_by("id").values_list(began, flat=True)[: MAX_COUNTED + 1])
    number = f"{len(times):,}" if len(times) <= MAX_COUNTED else f"{MAX_COUNTED:,}+"
    note = str(_("oldest: %s") % format_duration(timezone.now() - min(times))) if times else ""
    return Tile(title, number, links.list_url(str(rows.model._meta.model_name), **query), note)

"""Links within the admin. No link leads to a chat page: staff may not open the chats of other users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Artifact, Session, ToolJob

RowLinks = Callable[[Any], SafeString]


def session_url(session_id: UUID, *, seq: int | None = None, **query: str) -> str:
    """Return the URL of a session's page; with `seq`, of an event on the page."""
    url = reverse("admin:sessions_app_session_change", args=[session_id])
    parameters = query if seq is None else {"event": str(seq), **query}
    anchor = "" if seq is None else f"#event-{seq}"
    return f"{url}?{urlencode(parameters)}{anchor}" if parameters else url


def trace_url(session_id: UUID, invocation_id: str, *, seq: int | None = None) -> str:
    """Return the URL of an invocation's trace; with `seq`, of the spans of an event."""
    url = reverse("admin:sessions_app_session_trace", args=[session_id])
    anchor = "" if seq is None else f"#span-{seq}"
    return f"{url}?{urlencode({'invocation': invocation_id})}{anchor}"


def step_url(session_id: UUID, invocation_id: str, seq: int, child: int | None = None) -> str:
    """Return the URL of an event's model call on the trace of its invocation.

    Args:
        child: for a model call of an agent run as a tool, its place in the record of the event.
    """
    query = urlencode(
        {"invocation": invocation_id, "step": seq} | ({} if child is None else {"child": child})
    )
    return f"{reverse('admin:sessions_app_session_trace', args=[session_id])}?{query}#step"


def session_link(session: Session) -> SafeString:
    return format_html('<a href="{}"><bdi>{}</bdi></a>', session_url(session.id), session.title or session)


def event_link(session_id: UUID, seq: int) -> SafeString:
    """Return a link to an event on the page of its session."""
    return format_html('<a href="{}">#{}</a>', session_url(session_id, seq=seq), seq)


def call_link(session_id: UUID, call_id: str, seq: int | None) -> SafeString | str:
    """Return a link to the event with the call; the bare call id when `seq` is None."""
    if seq is None:
        return call_id
    return format_html("{} <bdi>{}</bdi>", event_link(session_id, seq), call_id)


def row_links(links: Sequence[tuple[str, str | Promise]]) -> RowLinks:
    """Return a column of a list with links to pages of the row.

    Args:
        links: name of the URL and text of each link; the URL takes the row's primary key.
    """

    @admin.display(description=_("Data"))
    def data(row: Any) -> SafeString:
        found = ((reverse(name, args=[row.pk]), words, row, words) for name, words in links)
        return format_html_join(" ", '<a href="{}" aria-label="{} {}">{}</a>', found)

    return data


def artifact_url(artifact: Artifact) -> str:
    return reverse("admin:sessions_app_artifact_change", args=[artifact.pk])


def job_url(job: ToolJob) -> str:
    return reverse("admin:sessions_app_tooljob_change", args=[job.pk])


def download_url(artifact: Artifact) -> str:
    return reverse("admin:sessions_app_artifact_download", args=[artifact.pk])

"""Links within the admin. No link leads to a chat page: staff may not open the chats of other users."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Session

RowLinks = Callable[[Any], SafeString]


def row_url(row: Model, page: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=[quote(row.pk)])


def list_url(model: str, **query: str) -> str:
    url = reverse(f"admin:sessions_app_{model}_changelist")
    return f"{url}?{urlencode(query)}" if query else url


def session_url(session_id: UUID, *, seq: int | None = None, **query: str) -> str:
    """Return the URL of a session's page; with `seq`, of an event on the page."""
    url = reverse("admin:sessions_app_session_change", args=[session_id])
    if seq is not None:
        return f"{url}?{urlencode({'event': seq, **query})}#event-{seq}"
    return f"{url}?{urlencode(query)}" if query else url


def trace_url(session_id: UUID, invocation_id: str, **query: object) -> str:
    url = reverse("admin:sessions_app_session_trace", args=[session_id])
    return f"{url}?{urlencode({'invocation': invocation_id, **query})}"


def graph_url(session_id: UUID, invocation_id: str, **query: object) -> str:
    url = reverse("admin:sessions_app_session_graph", args=[session_id])
    return f"{url}?{urlencode({'invocation': invocation_id, **query})}"


def step_url(session_id: UUID, invocation_id: str, seq: int, child: int | None = None) -> str:
    """Return the URL of an event's model call on the trace of its invocation.

    Args:
        child: for a model call of an agent run as a tool, its place in the record of the event.
    """
    query = {} if child is None else {"child": child}
    return f"{trace_url(session_id, invocation_id, step=seq, **query)}#step"


def session_link(session: Session) -> SafeString:
    return format_html('<a href="{}"><bdi>{}</bdi></a>', session_url(session.id), session.title or session)


def event_link(session_id: UUID, seq: int) -> SafeString:
    return format_html('<a href="{}">#{}</a>', session_url(session_id, seq=seq), seq)


def invocation_link(session_id: UUID, invocation_id: str, words: str | Promise = "") -> SafeString:
    """Return a link to the events of an invocation; its text is the id, unless `words` are given."""
    url = session_url(session_id, invocation=invocation_id)
    return format_html('<a href="{}">{}</a>', url, words or invocation_id)


def call_link(session_id: UUID, call_id: str, seq: int | None) -> SafeString | str:
    """Return a link to the event with the call; the bare call id when `seq` is None."""
    if seq is None:
        return call_id
    return format_html("{} <bdi>{}</bdi>", event_link(session_id, seq), call_id)


def row_links(links: Sequence[tuple[str, str | Promise]]) -> RowLinks:
    """Return a column of a list with links to pages of the row: name and text of each page."""

    @admin.display(description=_("Data"))
    def data(row: Any) -> SafeString:
        found = ((row_url(row, page), words, row, words) for page, words in links)
        return format_html_join(" ", '<a href="{}" aria-label="{} {}">{}</a>', found)

    return data

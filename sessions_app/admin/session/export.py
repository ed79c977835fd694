"""Export of the filtered list of sessions as CSV or JSON Lines, streamed page by page in constant memory."""

import csv
import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Any, cast

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern

from sessions_app.admin.framework.keyset_list import KeysetAdmin, KeysetChangeList
from sessions_app.admin.framework.permissions import Right, may, may_collect, require
from sessions_app.asgi.downloads import streamed_download
from sessions_app.models import AccessKind, Session, SessionFigures
from sessions_app.models.figures import AGENT, OUTCOME, TOOL, names_of
from sessions_app.process.threads import in_thread
from sessions_app.secrets.masking import mask_text

ROWS_PER_PAGE = 500
_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = (
    "id", "app", "user", "key", "title", "created_at", "updated_at", "events", "status", "tokens", "cost", "errors",
    "seconds", "agents", "tools", "outcomes",
)  # fmt: skip
Record = dict[str, Any]


@dataclass(frozen=True)
class ExportFormat:
    """Format of an exported file: content type, first line, and the function that writes records as lines."""

    content_type: str
    head: str
    rows: Callable[[Iterable[Record]], str]


def figures_of(session: Session) -> SessionFigures:
    """Return the figures of a session; empty figures for a session not counted by a sweep yet."""
    found: SessionFigures | None = getattr(session, "figures", None)
    return found or SessionFigures()


class SessionExportMixin(KeysetAdmin):
    """Admin with a download of its list, for staff with the permission to export."""

    change_list_template = "admin/sessions_app/session/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        exports = [
            self.view_path(f"export.{ending}", self.export_view, ending, ending=ending) for ending in FORMS
        ]
        return [*exports, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        rights = {"may_export": may(request, Right.EXPORT), "may_collect": may_collect(request)}
        return super().changelist_view(request, rights)

    def export_view(self, request: HttpRequest, ending: str) -> HttpResponseBase:
        """Return the sessions within the filters of the query string, the newest first.

        Args:
            ending: key of `FORMS`.
        """
        self.require_reading(request)
        require(request, Right.EXPORT)
        if SEARCH_VAR in request.GET:
            require(request, Right.VIEW_TEXT)
        try:
            changelist = cast(KeysetChangeList, self.get_changelist_instance(request))
        except IncorrectLookupParameters as error:
            raise BadRequest(f"The list has no such filter: {error}") from error
        form = FORMS[ending]
        filters = request.META["QUERY_STRING"]
        detail = f"{ending} of ?{filters}" if filters else ending
        self.note_access(request, AccessKind.EXPORT, detail=detail)
        rows = _stream(changelist, form, with_text=may(request, Right.VIEW_TEXT))
        return streamed_download(f"sessions.{ending}", rows, form.content_type)


async def _stream(changelist: KeysetChangeList, form: ExportFormat, *, with_text: bool) -> AsyncIterator[str]:
    yield form.head
    position = ""
    while True:
        page = await in_thread(changelist.page_after, position, ROWS_PER_PAGE)
        yield form.rows([_record(session, with_text) for session in page.rows])
        position = page.next_position
        if not position:
            return


def _record(session: Session, with_text: bool) -> Record:
    """Return the exported values of a session. The figures of a session not counted yet are 0."""
    figures = figures_of(session)
    return {
        "id": str(session.pk),
        "app": session.app_name,
        "user": session.user.get_username(),
        "key": mask_text(session.key),
        # A title is part of the conversation.
        "title": mask_text(session.title) if with_text else "",
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
        "events": session.last_seq,
        "status": session.open_status or "",  # type: ignore[attr-defined]
        "tokens": figures.tokens,
        "cost": figures.cost,
        "errors": figures.errors,
        "seconds": figures.seconds,
        "agents": _masked_names(AGENT, figures),
        "tools": _masked_names(TOOL, figures),
        "outcomes": _masked_names(OUTCOME, figures),
    }


def _masked_names(kind: str, figures: SessionFigures) -> list[str]:
    # Clients of the ADK API may append events with any names of agents and tools.
    return [mask_text(name) for name in names_of(kind, figures.labels)]


def _as_csv(records: Iterable[Record]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    for record in records:
        writer.writerow(_cell(record[column]) for column in COLUMNS)
    return text.getvalue()


def _cell(value: object) -> str:
    """Return a value as a cell, safe from being read as a formula by a spreadsheet."""
    text = "; ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(_BEGINS_FORMULA) else text


def _as_json_lines(records: Iterable[Record]) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


FORMS = {
    "csv": ExportFormat("text/csv; charset=utf-8", f"{','.join(COLUMNS)}\r\n", _as_csv),
    "jsonl": ExportFormat("application/jsonl", "", _as_json_lines),
}
"""Formats by the ending of the file's name."""

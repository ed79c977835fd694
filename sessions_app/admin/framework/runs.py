"""Base of the admins of runs: invocations and jobs, which run in attempts and can be followed and stopped."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import flatten
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.columns import exact_time
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.stoppable import StoppableAdmin
from sessions_app.rendering.audit_values import NOTHING, elapsed_time, excerpt, status_badge
from sessions_app.secrets.error_detail import cause_in

LARGE_OF_INVOCATION = ("message", "credentials", "error_detail", "past_attempts")
LARGE_OF_JOB = ("args", "result", "answers", "error_detail", "past_attempts")
"""Columns that may have megabytes. Only the page of the row reads them."""
ERROR_COLUMNS_WITHOUT_TEXT = {
    "error_detail": "error_place",
    "earlier_attempts": "bare_attempts",
    "earlier_details": None,
}
"""Errors may quote arguments of calls: these columns are for staff who may read texts."""


class RunAdmin(StoppableAdmin, KeysetAdmin):
    """Admin with the attempts of a row, and with a button "Follow changes" on the list and on the page of an open row.

    A followed page loads the live fields every two seconds, and itself when `version` has changed. Only loads of the
    whole page are recorded as accesses.

    Attributes:
        live_fields: lines of `fields` with values that change while the row is open, without text of a conversation.
    """

    change_list_template = "admin/sessions_app/live/change_list.html"
    change_form_template = "admin/sessions_app/live/change_form.html"
    live_fields: ClassVar[tuple[str | tuple[str, ...], ...]] = ()

    @abstractmethod
    def version(self, row: Any) -> str:
        """Return a text that changes with the other fields of the row: then the whole page is loaded again."""

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("<str:object_id>/live/", self.live_view, "live"), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = context["original"]
        # An ended row changes no more, so its page need not refresh itself.
        if row.is_stoppable:
            context |= {"live_url": self.url_of("live", row.pk), "version": self.version(row)}
        return super().render_change_form(request, context, *args, **kwargs)

    def live_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the live fields of a row as they are now."""
        self.require_reading(request)
        row = self.get_row(request, object_id)
        # No access is recorded: the live fields have no words, and a page asks every two seconds.
        form = self.get_form(request, row, change=True)(instance=row)
        live_fields = self.without_text(request, self.live_fields)
        readonly = flatten(live_fields)
        fieldsets: Any = [(None, {"fields": live_fields})]
        fields = AdminForm(form, fieldsets, {}, readonly, model_admin=self)
        context = {"adminform": fields, "version": self.version(row)}
        return TemplateResponse(request, "admin/sessions_app/live/fields.html", context)

    @admin.display(description=_("Status"))
    def badge(self, row: Any) -> SafeString:
        asked = status_badge("stop requested") if row.is_stop_requested else ""
        return format_html("{} {}", status_badge(row.status), asked)

    @admin.display(description=_("Runtime"))
    def took(self, row: Any) -> str:
        return elapsed_time(row.started_at, row.finished_at) or NOTHING

    # The row's other fields describe the newest attempt.
    @admin.display(description=_("Earlier attempts"))
    def earlier_attempts(self, row: Any) -> str:
        lines = []
        for attempt in _attempts_of(row):
            error = excerpt(attempt["error"])
            lines.append((attempt["number"], _time(attempt), attempt["worker"], attempt["agent"], error))
        return format_html_join(mark_safe("<br>"), "{}: {} <bdi>{}</bdi> {}: <bdi>{}</bdi>", lines) or NOTHING

    @admin.display(description=_("Earlier attempts"))
    def bare_attempts(self, row: Any) -> str:
        lines = ((attempt["number"], _time(attempt), attempt["worker"]) for attempt in _attempts_of(row))
        return format_html_join(mark_safe("<br>"), "{}: {} <bdi>{}</bdi>", lines) or NOTHING

    @admin.display(description=_("Place of the error"))
    def error_place(self, row: Any) -> str:
        """Return exception and place, for staff without the right to read texts: the detail may quote arguments."""
        return cause_in(row.error_detail).place or NOTHING

    @admin.display(description=_("Details of earlier errors"))
    def earlier_details(self, row: Any) -> str:
        details = (
            (attempt["number"], attempt["detail"]) for attempt in _attempts_of(row) if attempt["detail"]
        )
        return format_html_join("", '{}:<pre class="audit-block" tabindex="0">{}</pre>', details) or NOTHING


def _attempts_of(row: Any) -> Iterator[dict[str, str]]:
    keys = ("number", "worker", "started_at", "ended_at", "error", "detail", "agent")
    for attempt in row.past_attempts:
        yield {key: str(attempt.get(key) or "") for key in keys}


def _time(attempt: dict[str, str]) -> str:
    ended_at = parse_datetime(attempt["ended_at"])
    return exact_time(ended_at) if ended_at else ""

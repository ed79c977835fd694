"""Attempts of an invocation or a job as a list, each with its error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.time_column import exact_time
from sessions_app.rendering.audit_values import NOTHING, excerpt


class AttemptsMixin:
    """Fields with the past attempts of a row. The row's other fields describe the newest attempt."""

    @admin.display(description=_("Earlier attempts"))
    def earlier_attempts(self, row: Any) -> str:
        lines = (
            (attempt["number"], _time(attempt), attempt["worker"], excerpt(attempt["error"]))
            for attempt in _attempts_of(row)
        )
        return format_html_join(mark_safe("<br>"), "{}: {} <bdi>{}</bdi>: <bdi>{}</bdi>", lines) or NOTHING

    @admin.display(description=_("Details of earlier errors"))
    def earlier_details(self, row: Any) -> str:
        details = (
            (attempt["number"], attempt["detail"]) for attempt in _attempts_of(row) if attempt["detail"]
        )
        return format_html_join("", '{}:<pre class="audit-block" tabindex="0">{}</pre>', details) or NOTHING


def _attempts_of(row: Any) -> Iterator[dict[str, str]]:
    keys = ("number", "worker", "started_at", "ended_at", "error", "detail")
    for attempt in row.past_attempts:
        yield {key: str(attempt.get(key) or "") for key in keys}


def _time(attempt: dict[str, str]) -> str:
    ended_at = parse_datetime(attempt["ended_at"])
    return exact_time(ended_at) if ended_at else ""

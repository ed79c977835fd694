"""Admin of jobs: long-running function calls, executed by Celery workers."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import CALL_COLUMNS_WITHOUT_TEXT
from sessions_app.admin.framework.columns import exact_time, shown_column
from sessions_app.admin.framework.filters import AppFilter, ToolFilter
from sessions_app.admin.framework.links import row_url
from sessions_app.admin.framework.runs import ERROR_COLUMNS_WITHOUT_TEXT, LARGE_OF_JOB, RunAdmin
from sessions_app.admin.framework.stoppable import stop_wording
from sessions_app.admin.session.call_rows import CallRowMixin
from sessions_app.base.actors import Actor
from sessions_app.jobs.cancel import cancel_job
from sessions_app.models import Artifact, ToolJob
from sessions_app.rendering.audit_values import NOTHING, format_duration, json_block, status_badge


class WorkerLostFilter(admin.SimpleListFilter):
    """Filter of jobs with a lost attempt: its worker died."""

    title = _("worker lost")
    parameter_name = "worker_lost"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(lost_attempts__gt=0) if self.value() == "yes" else queryset


@admin.register(ToolJob)
class ToolJobAdmin(CallRowMixin, RunAdmin):
    """Jobs, newest first."""

    wording = stop_wording(_("Stop the job?"), _("The job is being stopped."))
    text_columns = {
        **CALL_COLUMNS_WITHOUT_TEXT,
        **ERROR_COLUMNS_WITHOUT_TEXT,
        "progress": "bar",
        **dict.fromkeys(
            ("arguments", "open_question", "answered_questions", "outcome", "files", "error", "short_error")
        ),
    }
    list_display = (
        "tool_name", "badge", "progress", "short_error", "of_session", "attempts", "took", "heartbeat", "worker",
        "created_at",
    )  # fmt: skip
    large_fields = LARGE_OF_JOB
    list_filter = ("status", AppFilter, ToolFilter, WorkerLostFilter, "created_at")
    ordering = ("-created_at", "-id")
    time_field = "created_at"
    search_fields = ("error",)  # the search box needs one
    search_help_text = _("Whole words of the error or of the session's title, a tool, a key, or an id.")
    fields = (
        ("badge", "attempts", "lost_attempts"), "progress", "of_session", "call", "invocation", "tool_name",
        "task_name", "agent_name", "worker", "created_at", "run_at", "sent_at", "started_at", "heartbeat",
        "finished_at", "took", "delivered_at", "cancel_requested_at", "cancelled_by_name", "cancel_reason", "acts",
        "error", "error_detail", "earlier_attempts", "earlier_details", "arguments",
        "open_question", "answered_questions", "outcome", "files",
    )  # fmt: skip
    live_fields = (("badge", "attempts", "lost_attempts"), "progress", "worker", "heartbeat", "took")
    short_error = shown_column("error", _("Error"))
    arguments = shown_column("args", _("Arguments"), json_block)

    def version(self, row: ToolJob) -> str:
        # A job may ask, be answered and ask again between two refreshes: the time tells the questions apart.
        question = row.question and row.question["asked_at"]
        return f"{row.status} {row.attempts} {row.cancel_requested_at} {question}"

    def act(self, row: ToolJob, by: Actor, reason: str) -> None:
        cancel_job(row.pk, by=by, reason=reason)

    @admin.display(description=_("Status"))
    def badge(self, row: ToolJob) -> SafeString:
        lost = status_badge("worker lost") if row.lost_attempts else ""
        return format_html("{} {}", super().badge(row), lost)

    @admin.display(description=_("Progress"))
    def progress(self, job: ToolJob) -> str:
        if job.percent is None:
            return job.progress_message or NOTHING
        return format_html("{} <bdi>{}</bdi>", self.bar(job), job.progress_message)

    @admin.display(description=_("Progress"))
    def bar(self, job: ToolJob) -> str:
        if job.percent is None:
            return NOTHING
        return format_html(
            '<progress class="audit-progress" max="100" value="{0}"></progress> {0} %', job.percent
        )

    @admin.display(description=_("Heartbeat"))
    def heartbeat(self, job: ToolJob) -> str:
        if job.heartbeat_at is None:
            return NOTHING
        return _("%(age)s ago") % {"age": format_duration(timezone.now() - job.heartbeat_at)}

    @admin.display(description=_("Open question"))
    def open_question(self, job: ToolJob) -> str:
        question = job.question
        if not question:
            return NOTHING
        return f"{_question_text(question)} ({_format_time(question['asked_at'])})"

    @admin.display(description=_("Answers"))
    def answered_questions(self, job: ToolJob) -> str:
        line = "<bdi>{}</bdi> <b><bdi>{}</bdi></b> (<bdi>{}</bdi>, {})"
        lines = []
        for answer in job.answers:
            at = _format_time(answer["at"])
            lines.append((_question_text(answer), _answer_text(answer["answer"]), answer["by"], at))
        return format_html_join(mark_safe("<br>"), line, lines) or NOTHING

    @admin.display(description=_("Result"))
    def outcome(self, job: ToolJob) -> str:
        return NOTHING if job.result is None else json_block(job.result)

    @admin.display(description=_("Files"))
    def files(self, job: ToolJob) -> str:
        of_person = Artifact.objects.filter(app_name=job.session.app_name, user=job.session.user_id)
        found = of_person.filter(Q(session=job.session_id) | Q(session=None), filename__in=job.artifacts)
        # Filtered by name in SQL and by version here: one query for all files.
        pages = {(row.filename, row.version): row_url(row) for row in found.only("filename", "version")}
        links = ((_file_link(pages.get(file), *file),) for file in job.artifacts.items())
        return format_html_join(", ", "{}", links) or NOTHING


def _file_link(url: str | None, name: str, version: int) -> SafeString:
    """Return a link to the page of a file; its name alone when the file was deleted."""
    shown = format_html("<bdi>{} v{}</bdi>", name, version)
    return format_html('<a href="{}">{}</a>', url, shown) if url else shown


def _question_text(question: dict[str, Any]) -> str:
    if question["options"]:
        return f"{question['text']} [{', '.join(question['options'])}]"
    return str(question["text"])


def _answer_text(answer: bool | str) -> str:
    if isinstance(answer, str):
        return answer
    return str(_("yes") if answer else _("no"))


def _format_time(moment: str) -> str:
    return exact_time(datetime.fromisoformat(moment))

"""Admin of scheduled tasks: task, times, runs and cancellation."""

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import CALL_COLUMNS_WITHOUT_TEXT
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import invocation_link
from sessions_app.admin.framework.stoppable import StoppableAdmin, stop_wording
from sessions_app.admin.session.call_rows import CallRowMixin
from sessions_app.base import client_ids
from sessions_app.base.actors import Actor
from sessions_app.live.notices import schedule_notice
from sessions_app.live.publish import publish_notice_from_thread
from sessions_app.models import Invocation, ScheduledTask
from sessions_app.rendering.audit_values import NOTHING, status_badge
from sessions_app.scheduling.session_tasks import cancel_task

MAX_SHOWN_RUNS = 20


@admin.register(ScheduledTask)
class ScheduledTaskAdmin(CallRowMixin, StoppableAdmin, KeysetAdmin):
    """Scheduled tasks, newest first."""

    wording = stop_wording(_("Stop the scheduled task?"), _("The scheduled task is stopped."))
    text_columns = {
        **CALL_COLUMNS_WITHOUT_TEXT,
        "short_task": None,
        "task": None,
        "newest_runs": None,
        "error": None,
    }
    list_display = ("id", "short_task", "badge", "next_at", "repeats", "of_session", "runs", "created_at")
    list_filter = (AppFilter, "next_at", "cancelled_at")
    ordering = ("-id",)
    search_fields = ("task", "=call_id", "=invocation_id")
    fields = (
        "badge", "of_session", "task", "call", "invocation", "agent_name", "start_at", "next_at", "repeats",
        "every", "time_zone", "runs", "newest_runs", "most_runs", "ends_at", "last_run_at", "created_at",
        "error", "cancelled_at", "cancelled_by_name", "acts",
    )  # fmt: skip
    short_task = shown_column("task", _("Task"))
    repeats = shown_column("how_often", _("How often"), str)
    badge = shown_column("status", _("Status"), status_badge)

    def describe(self, row: ScheduledTask) -> SafeString:
        """Return the number of the task and its user."""
        # Staff may stop tasks without the right to read texts, and the text of a task is part of the conversation.
        return format_html("<b>{}</b>, <bdi>{}</bdi>", row.pk, row.session.user)

    def act(self, row: ScheduledTask, by: Actor, reason: str) -> None:
        """Stop the task, and show the stop in open tabs. A running invocation of the task is not cancelled."""
        task = cancel_task(row.session_id, row.pk, by, reason)
        publish_notice_from_thread(task.session_id, schedule_notice(task))

    @admin.display(description=_("Newest runs"))
    def newest_runs(self, task: ScheduledTask) -> str:
        # Runs have no foreign key to their task: the client id of each begins with the task's number.
        prefix = client_ids.of_schedule(task.pk, "")
        runs = Invocation.objects.filter(session_id=task.session_id, client_id__startswith=prefix)
        ids = runs.order_by("-id").values_list("invocation_id", flat=True)[:MAX_SHOWN_RUNS]
        links = ((invocation_link(task.session_id, run_id),) for run_id in ids)
        return format_html_join(", ", "{}", links) or NOTHING

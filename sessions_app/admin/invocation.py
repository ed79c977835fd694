"""Admin of invocations: status, times, attempts, errors and acts; staff stop an invocation."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SESSION_COLUMNS_WITHOUT_TEXT
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AgentVersionFilter, AppFilter
from sessions_app.admin.framework.links import invocation_link, trace_url
from sessions_app.admin.framework.recorded_acts import actor_in_words, acts_on
from sessions_app.admin.framework.runs import ERROR_COLUMNS_WITHOUT_TEXT, LARGE_OF_INVOCATION, RunAdmin
from sessions_app.admin.framework.stoppable import stop_wording
from sessions_app.base.actors import Actor
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.models import Invocation
from sessions_app.process import threads
from sessions_app.rendering.audit_values import NOTHING, json_block


@admin.register(Invocation)
class InvocationAdmin(RunAdmin):
    """Invocations, newest first."""

    wording = stop_wording(_("Stop the invocation?"), _("The invocation is being stopped."))
    text_columns = {
        **SESSION_COLUMNS_WITHOUT_TEXT,
        **ERROR_COLUMNS_WITHOUT_TEXT,
        **dict.fromkeys(("content", "events", "trace", "error_message")),
        "error": "error_code",
    }
    list_display = (
        "invocation_id", "badge", "of_session", "error", "took", "created_at", "app", "asked_by", "attempts",
        "of_agent", "trace",
    )  # fmt: skip
    large_fields = LARGE_OF_INVOCATION
    list_filter = ("status", AppFilter, AgentVersionFilter, "created_at")
    ordering = ("-id",)
    time_field = "created_at"
    search_fields = ("error_message",)  # the search box needs one
    search_help_text = _("Whole words of the error or of the session's title, a key, or an id.")
    fields = (
        ("badge", "attempts"), "of_session", "of_agent", "asked_by", "reason", "acts", "events", "trace",
        "invocation_id", "client_id", "created_at",
        "started_at", "finished_at", "took", "owner", "cancel_requested_at", "cancelled_by_name",
        "cancel_reason", "error_code", "error_message",
        "error_detail", "earlier_attempts", "earlier_details", "content",
    )  # fmt: skip
    live_fields = (("badge", "attempts"), "took")
    error = shown_column("error_message", _("Error"))
    content = shown_column("message", _("Message"), json_block)

    def version(self, row: Invocation) -> str:
        return f"{row.status} {row.attempts} {row.cancel_requested_at}"

    def act(self, row: Invocation, by: Actor, reason: str) -> None:
        threads.run(cancel_invocation(row.session, row.invocation_id, by=by, reason=reason))

    @admin.display(description=_("Version of the agent"))
    def of_agent(self, invocation: Invocation) -> str:
        return invocation.agent_version or NOTHING

    @admin.display(description=_("Asked by"))
    def asked_by(self, invocation: Invocation) -> SafeString:
        return actor_in_words(invocation)

    @admin.display(description=_("Acts"))
    def acts(self, invocation: Invocation) -> SafeString:
        return acts_on("invocation", invocation.session_id, invocation.invocation_id)

    @admin.display(description=_("Events"))
    def events(self, invocation: Invocation) -> SafeString:
        words = _("Events of this invocation")
        return invocation_link(invocation.session_id, invocation.invocation_id, words)

    @admin.display(description=_("Trace"))
    def trace(self, invocation: Invocation) -> SafeString:
        url = trace_url(invocation.session_id, invocation.invocation_id)
        return format_html('<a href="{}">{}</a>', url, _("Trace"))

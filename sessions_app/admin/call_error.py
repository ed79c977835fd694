"""Admin of the exceptions of tools, for staff with the permission to see details of errors."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import OF_SESSION_IN_WORDS, SessionRowAdmin
from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.admin.links import call_link
from sessions_app.admin.permissions import Right, may
from sessions_app.models import CallError


@admin.register(CallError)
class CallErrorAdmin(KeysetAdmin, SessionRowAdmin):
    """Exceptions, newest first."""

    text_columns = {**OF_SESSION_IN_WORDS, "event": "seq", "response": "call_id"}
    list_display = ("at", "tool_name", "error", "of_session", "app", "event")
    list_filter = ("at",)
    large_fields = ("detail",)
    ordering = ("-id",)
    fields = ("at", "tool_name", "error", "of_session", "response", "traceback")

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return may(request, Right.VIEW_ERROR_DETAIL)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("Response of the call"))
    def response(self, row: CallError) -> SafeString | str:
        return call_link(row.session_id, row.call_id, row.seq)

    @admin.display(description=_("Traceback"))
    def traceback(self, row: CallError) -> SafeString:
        return format_html('<pre class="audit-block" tabindex="0">{}</pre>', row.detail)

"""What the admins of things that a function call asked for share."""

from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.links import call_link, session_url
from sessions_app.admin.related import find_call
from sessions_app.models import ScheduledTask, ToolJob


class OfCallMixin:
    """Leads to the call and to its invocation."""

    @admin.display(description=_("Call"))
    def call(self, row: ScheduledTask | ToolJob) -> SafeString | str:
        return call_link(row.session_id, row.call_id, find_call(row.session, row.call_id))

    @admin.display(description=_("Invocation"))
    def invocation(self, row: ScheduledTask | ToolJob) -> SafeString:
        url = session_url(row.session_id, invocation=row.invocation_id)
        return format_html('<a href="{}">{}</a>', url, row.invocation_id)

"""Rows of a function call: jobs and scheduled tasks, with links to the call."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.links import call_link, invocation_link
from sessions_app.admin.session.timeline.event_links import find_call
from sessions_app.models import ScheduledTask, ToolJob

CallRow = ScheduledTask | ToolJob


class CallRowMixin:
    """Columns with links from a row to its function call, and to the invocation of the call."""

    @admin.display(description=_("Call"))
    def call(self, row: CallRow) -> SafeString | str:
        return call_link(row.session_id, row.call_id, find_call(row.session, row.call_id))

    @admin.display(description=_("Invocation"))
    def invocation(self, row: CallRow) -> SafeString:
        return invocation_link(row.session_id, row.invocation_id)

"""Stop action of the audit admin: staff stop invocations, jobs and scheduled tasks, with a permission for each."""

from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.confirmed_action import ConfirmedActionAdmin, ReasonForm, Wording, Words
from sessions_app.admin.framework.permissions import may
from sessions_app.admin.framework.recorded_acts import acts_on
from sessions_app.models import ActionKind


class StopForm(ReasonForm):
    """Optional reason for a stop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        reason = self.fields["reason"]
        reason.required = False
        reason.label = gettext_lazy("Reason (optional)")
        reason.help_text = gettext_lazy("Recorded for the audit. The user only reads that staff stopped it.")


def stop_wording(title: Words, done: Words) -> Wording:
    return Wording(
        link=gettext_lazy("Stop…"),
        title=title,
        confirm=gettext_lazy("Stop it"),
        refrain=gettext_lazy("No, keep it running"),
        done=done,
    )


class StoppableAdmin(ConfirmedActionAdmin, SessionRowAdmin):
    """Admin with a stop action for open rows. The row keeps author, time and reason of the stop.

    A stop needs the permission `cancel_<model>` and a permission to view the row.
    """

    action = ActionKind.STOP
    reason_form: ClassVar[type[forms.Form]] = StopForm

    def has_action_permission(self, request: HttpRequest) -> bool:
        # The page of a session shows its invocations, jobs and tasks, too, with links to stop them.
        may_see = self.has_view_permission(request) or may(request, "sessions_app.view_session")
        return may_see and may(request, f"{self.opts.app_label}.cancel_{self.opts.model_name}")

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns with a stop link after the status."""
        columns = list(super().get_list_display(request))
        if self.has_action_permission(request):
            columns.insert(2, self._stop_column(request))
        return tuple(columns)

    def _stop_column(self, request: HttpRequest) -> Callable[[Any], SafeString | None]:
        page = urlencode({"next": request.get_full_path()})

        @admin.display(description=gettext_lazy("Stop"), empty_value="")
        def stop(row: Any) -> SafeString | None:
            if not row.is_stoppable:
                return None
            url = self.url_of(self.action, row.pk)
            what = _("Stop %(what)s") % {"what": row}
            return format_html('<a href="{}?{}" aria-label="{}">{}</a>', url, page, what, self.wording.link)

        return stop

    @admin.display(description=gettext_lazy("Acts"))
    def acts(self, row: Any) -> SafeString:
        return acts_on(str(self.opts.model_name), row.session_id, row.pk)

    def why_not(self, row: Any) -> str:
        if row.is_stoppable:
            return ""
        text = _("There is nothing to stop: the %(noun)s is already %(status)s.")
        return text % {"noun": self.opts.verbose_name, "status": row.status}

    def describe(self, row: Any) -> SafeString:
        return format_html(
            _("<b><bdi>{}</bdi></b> of <bdi>{}</bdi>, <bdi>{}</bdi>"), row, row.session.user, row.session
        )

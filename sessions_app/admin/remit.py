"""Admin of remits: the sessions that a group of staff sees. No other rows of this app have a form for changes."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.staff_records import RecordedActsMixin
from sessions_app.models import Remit


@admin.register(Remit)
class RemitAdmin(RecordedActsMixin):
    list_display = ("group", "apps", "whose", "id")
    list_filter = ("group",)
    list_select_related = ("group", "people")
    ordering = ("group__name", "pk")

    @admin.display(description=_("Apps"), ordering="app_name")
    def apps(self, remit: Remit) -> str:
        return remit.app_name or str(_("all"))

    @admin.display(description=_("Sessions of"), ordering="people")
    def whose(self, remit: Remit) -> str:
        return str(remit.people or _("everybody"))

"""Admin of app state and user state, which sessions share."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import SessionAppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import list_url
from sessions_app.admin.framework.permissions import REMIT_OF_APP, REMIT_OF_ROW
from sessions_app.models import AppState, Session, UserState
from sessions_app.rendering.audit_values import json_block


class SharedStateAdmin(ReadOnlyAdmin):
    """Admin of rows of shared state. Keys are shown without the prefix of their scope."""

    shows_text = True
    values = shown_column("state", _("State"), json_block)

    @admin.display(description=_("Keys"))
    def keys(self, shared: AppState | UserState) -> str:
        return ", ".join(sorted(shared.state))


@admin.register(AppState)
class AppStateAdmin(SharedStateAdmin):
    """State under the `app:` prefix."""

    remit_paths = (REMIT_OF_APP,)
    list_display = ("app_name", "keys")
    fields = ("app_name", "values")
    search_fields = ("app_name",)


@admin.register(UserState)
class UserStateAdmin(KeysetAdmin, SharedStateAdmin):
    """State under the `user:` prefix."""

    remit_paths = (REMIT_OF_ROW,)
    list_display = ("user", "app_name", "keys")
    list_filter = (SessionAppFilter,)
    list_select_related = ("user",)
    ordering = ("-id",)
    fields = ("user", "app_name", "values")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add the link to the sessions for staff who may see their list."""
        fields = super().get_fields(request, obj)
        # A link to a refused page would be a dead end.
        may_list = admin.site.get_model_admin(Session).has_view_permission(request)
        return [*fields, "sessions"] if may_list else fields

    @admin.display(description=_("Sessions"))
    def sessions(self, shared: UserState) -> SafeString:
        url = list_url("session", user=shared.user.get_username(), app_name=shared.app_name)
        return format_html('<a href="{}">{}</a>', url, _("the sessions that share this state"))

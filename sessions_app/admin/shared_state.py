"""Admin of the state that sessions share: app state and user state."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.app_filter import SessionAppFilter
from sessions_app.admin.base import ReadOnlyAdmin
from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.admin.permissions import OF_APP, OWN
from sessions_app.models import AppState, UserState
from sessions_app.rendering.audit_values import json_block


class SharedStateAdmin(ReadOnlyAdmin):
    """Admin of rows of shared state. Keys are shown without the prefix of their scope."""

    is_text = True

    @admin.display(description=_("Keys"))
    def keys(self, shared: AppState | UserState) -> str:
        return ", ".join(sorted(shared.state))

    @admin.display(description=_("State"))
    def values(self, shared: AppState | UserState) -> SafeString:
        return json_block(shared.state)


@admin.register(AppState)
class AppStateAdmin(SharedStateAdmin):
    """State under the `app:` prefix."""

    remit_paths = (OF_APP,)
    list_display = ("app_name", "keys")
    fields = ("app_name", "values")
    search_fields = ("app_name",)


@admin.register(UserState)
class UserStateAdmin(KeysetAdmin, SharedStateAdmin):
    """State under the `user:` prefix."""

    remit_paths = (OWN,)
    list_display = ("user", "app_name", "keys")
    list_filter = (SessionAppFilter,)
    list_select_related = ("user",)
    ordering = ("-id",)
    fields = ("user", "app_name", "values")

"""The state that sessions share: of an app, of a user in an app."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.formatting import pretty_block
from sessions_app.admin.read_only import ReadOnlyAdmin
from sessions_app.models import AppState, UserState


class SharedStateAdmin(ReadOnlyAdmin):
    """The keys are shown without their prefix."""

    @admin.display(description=_("Keys"))
    def keys(self, shared: AppState | UserState) -> str:
        return ", ".join(sorted(shared.state))

    @admin.display(description=_("State"))
    def values(self, shared: AppState | UserState) -> SafeString:
        return pretty_block(shared.state)


@admin.register(AppState)
class AppStateAdmin(SharedStateAdmin):
    """What `app:` keys hold."""

    list_display = ("app_name", "keys")
    fields = ("app_name", "values")
    search_fields = ("app_name",)


@admin.register(UserState)
class UserStateAdmin(SharedStateAdmin):
    """What `user:` keys hold."""

    list_display = ("user", "app_name", "keys")
    list_filter = (("app_name", admin.AllValuesFieldListFilter),)
    list_select_related = ("user",)
    fields = ("user", "app_name", "values")

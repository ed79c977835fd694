"""Admin of acts on API keys and webhooks: who made, changed or revoked a key or webhook, when and from where."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.permissions import OF_USER
from sessions_app.admin.session_acts import actor_in_words
from sessions_app.admin.subjects import SubjectAdmin
from sessions_app.models import AccountAct


@admin.register(AccountAct)
class AccountActAdmin(SubjectAdmin):
    """Acts, newest first."""

    remit_paths = (OF_USER,)
    list_display = ("at", "action", "actor", "subject_kind", "subject", "user", "reason")
    list_filter = ("action", "actor_kind", "subject_kind", "at")
    list_select_related = ("user",)
    ordering = ("-id",)
    fields = (
        "at", "action", "actor_kind", "actor_name", "actor_id", "address", "subject_kind", "subject_id", "subject",
        "user", "reason",
    )  # fmt: skip

    @admin.display(description=_("Who"))
    def actor(self, act: AccountAct) -> SafeString:
        return actor_in_words(act)

"""Admin of the recorded accesses of staff. Nobody can change them."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.models import StaffAccess


@admin.register(StaffAccess)
class StaffAccessAdmin(KeysetAdmin):
    """Accesses, newest first."""

    list_display = ("at", "actor_name", "kind", "subject_kind", "subject_id", "detail", "address", "reason")
    list_filter = ("kind", "subject_kind", "at")
    ordering = ("-id",)
    search_fields = ("actor_name", "=subject_id", "=address")

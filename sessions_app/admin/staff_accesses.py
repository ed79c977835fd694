"""Admin of the recorded accesses of staff. Nobody can change them."""

from __future__ import annotations

from django.contrib import admin

from sessions_app.admin.subjects import SubjectAdmin
from sessions_app.models import StaffAccess


@admin.register(StaffAccess)
class StaffAccessAdmin(SubjectAdmin):
    """Accesses, newest first."""

    list_display = ("at", "actor_name", "kind", "subject_kind", "subject", "detail", "address", "reason")
    list_filter = ("kind", "subject_kind", "at")
    ordering = ("-id",)
    search_fields = ("actor_name", "=subject_id", "=address")
    fields = (
        "at", "kind", "actor_kind", "actor_name", "actor_id", "address", "subject_kind", "subject_id", "subject",
        "detail", "reason",
    )  # fmt: skip

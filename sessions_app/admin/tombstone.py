"""Admin of tombstones: what was erased, by whom and why."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import remits_of
from sessions_app.data_protection.personal_data import as_text
from sessions_app.models import Tombstone


@admin.register(Tombstone)
class TombstoneAdmin(KeysetAdmin):
    """Tombstones, newest first. The erasure of a tombstone without `finished_at` runs, or was interrupted."""

    list_display = ("kind", "subject_id", "user_id", "erased", "started_at", "finished_at", "by_name")
    list_filter = ("kind", "started_at")
    ordering = ("-id",)
    search_fields = ("=subject_id", "=user_id")
    fields = ("kind", "subject_id", "user_id", "erased", "reason", "by_name", "started_at", "finished_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tombstone]:
        """Return the tombstones; for staff with a remit, those of their own erasures."""
        # Nothing is left of an erased session that tells its app.
        tombstones: QuerySet[Tombstone] = super().get_queryset(request)
        return tombstones.filter(by=request.user.pk) if remits_of(request) else tombstones

    @admin.display(description=_("Erased"))
    def erased(self, tombstone: Tombstone) -> str:
        return as_text(tombstone.counts)

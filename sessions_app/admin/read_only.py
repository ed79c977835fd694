"""What all admins of this app share: they are read, by whoever has the view permission."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse


def refuse_writing(request: HttpRequest) -> None:
    """Evidence is read.

    Raises:
        PermissionDenied: the request is anything but GET or HEAD.
    """
    if request.method not in ("GET", "HEAD"):
        raise PermissionDenied


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Nobody adds, changes or deletes here, superusers included; an attempt is answered with 403."""

    actions = None
    # It would count the whole table beside what was searched for.
    show_full_result_count = False

    class Media:
        """Looks of the audit pages."""

        css = {"all": ["sessions_app/admin/audit.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        refuse_writing(request)
        return super().changelist_view(request, extra_context)

"""Filter of jobs that have lost a worker."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


class WorkerLostFilter(admin.SimpleListFilter):
    """Filter of jobs with an attempt that ended with its worker."""

    title = _("worker lost")
    parameter_name = "worker_lost"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(lost_attempts__gt=0) if self.value() == "yes" else queryset

"""Admin of the figures of days: the overview takes the place of their list."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from sessions_app.admin.base import ReadOnlyAdmin
from sessions_app.admin.overview.page import DAYS, load_overview
from sessions_app.admin.page_context import page_context
from sessions_app.admin.permissions import sums_within_remits
from sessions_app.models import DayFigure


@admin.register(DayFigure)
class OverviewAdmin(ReadOnlyAdmin):
    """Today at a glance, and the last days."""

    class Media:
        """Style sheet of the pages with figures."""

        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return sums_within_remits(request, super().get_queryset(request))

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # The overview takes the place of the list, so the checks of Django's list view do not run.
        self.require_reading(request)
        context = {
            **page_context(self, request, _("Overview")),
            "number_of_days": DAYS,
            "overview": load_overview(request),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/sessions_app/overview.html", context)

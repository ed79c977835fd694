"""Links from the numbers of the overview to the lists of the counted rows."""

from datetime import date, datetime, time, timedelta
from functools import cache

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.admin.framework.figure_filters import FailedToolFilter
from sessions_app.admin.framework.links import list_url


class OverviewLinks:
    """URLs for the user of a request; empty for a list without permission."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._may_see = cache(self._has_permission)

    def list_url(self, model: str, **query: str) -> str:
        return list_url(model, **query) if self._may_see(model) else ""

    def sessions_of(self, first: date, last: date, **query: str) -> str:
        """Return the URL of the sessions with their last event on one of these days."""
        return self.list_url("session", since=first.isoformat(), until=last.isoformat(), **query)

    def failures_of(self, first: date, last: date, tool: str = FailedToolFilter.any_tool) -> str:
        """Return the URL of the failures of a tool, or of all tools, on these days."""
        end = last + timedelta(days=1)
        return self.list_url("failure", tool=tool, day__gte=first.isoformat(), day__lt=end.isoformat())

    def invocations_of(self, day: date, **query: str) -> str:
        """Return the URL of the invocations created on a day of the site's time zone."""
        start = self.start_of(day)
        times = {"created_at__gte": str(start), "created_at__lt": str(start + timedelta(days=1))}
        return self.list_url("invocation", **query, **times)

    @staticmethod
    def start_of(day: date) -> datetime:
        """Return the beginning of a day in the site's time zone."""
        # Not the reader's time zone: figures count days of the site.
        return timezone.make_aware(datetime.combine(day, time()), timezone.get_default_timezone())

    def _has_permission(self, model: str) -> bool:
        model_admin = admin.site.get_model_admin(apps.get_model("sessions_app", model))
        return model_admin.has_view_permission(self._request)

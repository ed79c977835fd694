"""Links from a number of the overview to the list that it counts."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from sessions_app.admin.figure_filters import FailedToolFilter


def list_url(model: str, **query: str) -> str:
    """Return the URL of a filtered list."""
    url = reverse(f"admin:sessions_app_{model}_changelist")
    return f"{url}?{urlencode(query)}" if query else url


def sessions_of(first: date, last: date, **query: str) -> str:
    """Return the URL of the sessions whose last event was on one of these days."""
    return list_url("session", since=first.isoformat(), until=last.isoformat(), **query)


def failures_of(first: date, last: date, tool: str = FailedToolFilter.any_tool) -> str:
    """Return the URL of the failures of a tool, or of all tools, on these days."""
    end = last + timedelta(days=1)
    return list_url("failure", tool=tool, day__gte=first.isoformat(), day__lt=end.isoformat())


def invocations_of(day: date, **query: str) -> str:
    """Return the URL of the invocations that were created on a day of the site's time zone."""
    start = timezone.make_aware(datetime.combine(day, time()), timezone.get_default_timezone())
    times = {"created_at__gte": str(start), "created_at__lt": str(start + timedelta(days=1))}
    return list_url("invocation", **query, **times)

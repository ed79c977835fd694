"""Links from a number of the overview to the list that it counts."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone


def list_url(model: str, **query: str) -> str:
    """Return the URL of a filtered list."""
    url = reverse(f"admin:sessions_app_{model}_changelist")
    return f"{url}?{urlencode(query)}" if query else url


def sessions_of(first: date, last: date, **query: str) -> str:
    """Return the URL of the sessions whose last event was on one of these days."""
    return list_url("session", since=first.isoformat(), until=last.isoformat(), **query)


def invocations_of(day: date, **query: str) -> str:
    """Return the URL of the invocations that were created on a day of the site's time zone."""
    start = timezone.make_aware(datetime.combine(day, time()), timezone.get_default_timezone())
    times = {"created_at__gte": str(start), "created_at__lt": str(start + timedelta(days=1))}
    return list_url("invocation", **query, **times)

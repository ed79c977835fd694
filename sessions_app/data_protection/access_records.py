"""Retention of the records of accesses of staff."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.models import StaffAccess


def delete_old_accesses() -> int:
    """Delete records older than `access_log_days`, unless the setting is 0; return their number."""
    days = conf().access_log_days
    if not days:
        return 0
    deleted, _ = StaffAccess.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()
    return deleted

"""Retention of the records of what staff read."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.models import StaffAccess


def delete_old_accesses() -> int:
    """Delete the records that are older than `access_log_days`; return their number. 0 days keep all."""
    days = conf().access_log_days
    if not days:
        return 0
    deleted, _ = StaffAccess.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()
    return deleted

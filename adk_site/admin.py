"""Admin of failed sign-ins: user names and addresses that django-axes counts and locks."""

from axes.models import AccessAttempt
from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.conf import conf


# Read-only: the admin of django-axes would let staff edit and add attempts.
@admin.register(AccessAttempt)
class AccessAttemptAdmin(ReadOnlyAdmin):
    """Wrong passwords since the last successful sign-in, newest first.

    `manage.py axes_reset_username` and `axes_reset_ip` end a lock early.
    """

    list_display = (
        "username",
        "ip_address",
        "failures_since_start",
        "is_locked",
        "attempt_time",
        "user_agent",
    )
    list_filter = ("attempt_time",)
    ordering = ("-attempt_time",)
    search_fields = ("=username", "=ip_address")
    fields = ("username", "ip_address", "failures_since_start", "attempt_time", "path_info", "user_agent")

    @admin.display(description=_("Locked"), boolean=True)
    def is_locked(self, attempt: AccessAttempt) -> bool:
        limit = conf().sign_in_failures
        return bool(limit) and attempt.failures_since_start >= limit

"""Permissions of staff on the pages of the chat."""

from __future__ import annotations

from django.contrib.auth.models import PermissionsMixin

from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User


async def has_rights(user: User, *permissions: str) -> bool:
    """Return True for a member of staff who has all these permissions."""
    if not isinstance(user, PermissionsMixin) or not getattr(user, "is_staff", False):
        return False
    return await in_thread(user.has_perms, permissions)

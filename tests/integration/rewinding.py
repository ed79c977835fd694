"""Rewinding as its own step; on the site a rewind is always part of an edit."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User

from sessions_app.invocations.rewind import rewind_before
from sessions_app.ownership import own_session


async def go_back(user: User, session_id: UUID, invocation_id: str) -> None:
    """Rewind the user's session to before the invocation."""
    await rewind_before(await own_session(user, session_id), invocation_id)

"""SessionView: a session as one reader sees it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.models import Session
from sessions_app.ownership import User


@dataclass(frozen=True)
class SessionView:
    """A session to render for a reader.

    Attributes:
        shows_details: True for a reader who sees names of tools, results as JSON, milliseconds and state.
    """

    session_id: UUID
    app_name: str
    shows_details: bool = False

    @classmethod
    def of(cls, session: Session, reader: User) -> SessionView:
        """Return the session as the reader sees it."""
        return cls(session.pk, session.app_name, may_see_details(reader))


def may_see_details(user: User) -> bool:
    """True for staff, and for everybody where the site shows details."""
    return bool(getattr(user, "is_staff", False)) or conf().show_details

"""Sessions as readers see them.

Caches and shared frames have a `SessionView` as key, so it has only the properties of a reader that change the HTML.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.conf import settings
from django.utils import timezone, translation

from sessions_app.conf import conf
from sessions_app.models import Session
from sessions_app.sessions.ownership import User


@dataclass(frozen=True)
class Reader:
    """A group of users who see the same HTML.

    Attributes:
        shows_details: True to show names of tools, results as JSON, milliseconds and state.
        language: code of the language; empty for the site's language.
        time_zone: IANA name of the time zone; empty for the site's time zone.
    """

    shows_details: bool = False
    language: str = ""
    time_zone: str = ""

    @classmethod
    def of(cls, user: User) -> Self:
        """Return the reader for a user, in the language and time zone of the current request or connection."""
        # `get_current_timezone_name` of Django returns an abbreviation, which names no zone.
        zone = str(timezone.get_current_timezone())
        return cls(may_see_details(user), translation.get_language() or "", zone)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Activate the language and the time zone of the reader during the block."""
        with (
            translation.override(self.language or settings.LANGUAGE_CODE),
            timezone.override(self.time_zone or settings.TIME_ZONE),
        ):
            yield


SITE_READER = Reader()


@dataclass(frozen=True)
class SessionView:
    """A session to render for a reader."""

    session_id: UUID
    app_name: str
    reader: Reader = SITE_READER

    @classmethod
    def of(cls, session: Session, user: User) -> Self:
        """Return the view of the session for a user, in the current request."""
        return cls(session.pk, session.app_name, Reader.of(user))

    @property
    def shows_details(self) -> bool:
        """True if the reader sees details."""
        return self.reader.shows_details


def may_see_details(user: User) -> bool:
    """True for staff, and for everybody where the site shows details."""
    return bool(getattr(user, "is_staff", False)) or conf().show_details

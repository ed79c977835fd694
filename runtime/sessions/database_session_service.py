"""DatabaseSessionService: google-adk's name for the session service of the site that runs the agents."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from runtime.errors import ConfigurationError
from runtime.sessions.base_session_service import BaseSessionService

logger = logging.getLogger(__name__)
_make_service: Callable[[], BaseSessionService] | None = None


def set_database_session_service(make_service: Callable[[], BaseSessionService] | None) -> None:
    """Set the function that makes the session service of this process; the site does so at its start."""
    global _make_service
    _make_service = make_service


def DatabaseSessionService(db_url: str | None = None, **options: Any) -> BaseSessionService:
    """Return the session service of the site, which keeps sessions in the site's own database.

    Args:
        db_url: Not used, and logged as a warning: the site's `DATABASE_URL` says where its database is.

    Raises:
        ConfigurationError: this process has no site.
    """
    if _make_service is None:
        raise ConfigurationError(
            "DatabaseSessionService needs the site, whose sessions_app is in INSTALLED_APPS. Run this code in a Django "
            "process after django.setup(), or use InMemorySessionService."
        )
    if db_url is not None or options:
        logger.warning("DatabaseSessionService ignores db_url and options: it uses the site's database.")
    return _make_service()

"""Effective events of a session: the events that are not rewound."""

from runtime.events.event import Event as RuntimeEvent
from sessions_app import models
from sessions_app.store.session_service import DjangoSessionService


async def effective_events(session: models.Session) -> list[RuntimeEvent]:
    """Return the session's effective events: see `DjangoSessionService.effective_events`."""
    return await DjangoSessionService().effective_events(**session.runtime_args)

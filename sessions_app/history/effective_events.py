"""Effective events of a session: not rewound and not replaced by a summary."""

from __future__ import annotations

from runtime.events.event import Event
from runtime.sessions import GetSessionConfig
from sessions_app import models
from sessions_app.store.session_service import DjangoSessionService


async def effective_events(session: models.Session) -> list[Event]:
    """Return the session's events without rewound events (contract R3), with summaries instead of the events they cover
    (R4).

    Empty when the session was deleted.
    """
    loaded = await DjangoSessionService().get_session(
        **session.runtime_args,
        config=GetSessionConfig(without_superseded=True),
    )
    return loaded.events if loaded else []

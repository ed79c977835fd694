"""Effective events of a session: the events that are not rewound."""

from runtime.events.event import Event
from runtime.events.rewound import drop_rewound
from sessions_app import models
from sessions_app.store.session_service import DjangoSessionService


async def effective_events(session: models.Session) -> list[Event]:
    """Return the session's events without rewound events (contract R3); empty when the session was deleted.

    Events that a summary has replaced are included: they may hold calls that still wait.
    """
    loaded = await DjangoSessionService().get_session(**session.runtime_args)
    return drop_rewound(loaded.events) if loaded else []

"""The events of a conversation that count."""

from __future__ import annotations

from runtime.events.event import Event
from runtime.sessions import GetSessionConfig
from sessions_app import models
from sessions_app.services.session_service import DjangoSessionService


async def effective_events(session: models.Session) -> list[Event]:
    """Without what was rewound (spec R3), and with a summary for what it stands for (R4). Empty when it is gone."""
    loaded = await DjangoSessionService().get_session(
        app_name=session.app_name,
        user_id=str(session.user_id),
        session_id=session.key,
        config=GetSessionConfig(without_superseded=True),
    )
    return loaded.events if loaded else []

"""Users and events for the benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from runtime import types
from runtime.events import Event
from runtime.sessions import BaseSessionService, Session

if TYPE_CHECKING:  # models can be imported only after Django is set up
    from django.contrib.auth.models import User

WORDS = "the quick brown fox jumps over the lazy dog and runs on through the field until the evening comes"


def make_person() -> User:
    """Create a user of the site, without a password, whose hash takes a third of a second."""
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_user(f"bench-{uuid4().hex[:12]}")


def message_event(author: str, text: str, invocation_id: str = "e-bench") -> Event:
    """Return an event with one text part."""
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, invocation_id=invocation_id, content=content)


async def fill(service: BaseSessionService, session: Session, events: int) -> None:
    """Append a history of short invocations to the session."""
    for number in range(events):
        author = "user" if number % 2 == 0 else "agent"
        await service.append_event(session, message_event(author, f"{WORDS} {number}", f"e-{number // 2}"))

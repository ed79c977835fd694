"""Somebody to talk to, and something to say."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from runtime import types
from runtime.events import Event

WORDS = "the quick brown fox jumps over the lazy dog and runs on through the field until the evening comes"


def make_person() -> Any:
    """A user of the site."""
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_user(f"bench-{uuid4().hex[:12]}", password=uuid4().hex)


def message_event(author: str, text: str, invocation_id: str = "e-bench") -> Event:
    """An event with one text."""
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, invocation_id=invocation_id, content=content)


async def fill(service: Any, session: Any, events: int) -> None:
    """Give the session a history of short invocations."""
    for number in range(events):
        author = "user" if number % 2 == 0 else "agent"
        await service.append_event(session, message_event(author, f"{WORDS} {number}", f"e-{number // 2}"))

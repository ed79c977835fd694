"""Fixtures that fuzz tests share: a person, a session with a log, and a watch on the log of the process."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import PurePath
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Event, Session
from sessions_app.shutdown import shut_down

COLLECTED = (
    "Task was destroyed but it is pending",
    "an error occurred during closing of asynchronous generator",
)
"""Logged of tasks that an earlier test left behind, and of generators that a library leaves to garbage collection."""


class Errors(logging.Handler):
    """Keeps what is logged at level ERROR and above."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []
        self.expected: tuple[str, ...] = ()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in self.expected or record.getMessage().startswith(COLLECTED):
            return
        error = record.exc_info[1] if record.exc_info else None
        frames = traceback.extract_tb(error.__traceback__) if error else []
        places = [f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames[-3:]]
        self.told.append(f"{record.name}: {record.getMessage()} {error!r} {' '.join(places)}")

    def taken(self) -> list[str]:
        """Return the records since the last call."""
        told, self.told = self.told, []
        return told


@pytest.fixture(autouse=True)
def errors(caplog: pytest.LogCaptureFixture) -> Iterator[Errors]:
    """No test may leave a record of level ERROR; tests look at it after each example, to name the example.

    Django's notes on requests that it refused are left out. There are thousands, each with a traceback.
    """
    caplog.set_level(logging.CRITICAL, "django.security")
    caplog.set_level(logging.ERROR, "django.request")
    handler = Errors()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)
    assert handler.taken() == []


@pytest.fixture
def marked_rows(errors: Errors) -> None:
    """Expect the log lines of events that pages show as one marked row."""
    errors.expected = (
        "sessions_app.rendering.html",
        "sessions_app.admin.session.timeline.event_rows",
        "sessions_app.admin.session.timeline.person_view",
        "sessions_app.templatetags.audit",
    )


def add_event(session: Session, body: Any) -> Event:
    """Append an event as the log keeps it, whatever its shape."""
    session.last_seq += 1
    session.save()
    return Event.objects.create(session=session, seq=session.last_seq, body=body)


def said(text: str, **fields: Any) -> dict[str, Any]:
    """The body of an event of the agent."""
    content = {"role": "model", "parts": [{"text": text}]}
    names = {"id": f"id-{text}", "author": "echo", "invocationId": "e-1", "timestamp": 1.0}
    return {**names, "actions": {}, "content": content, **fields}


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("ada", is_staff=True, is_superuser=True)


@pytest.fixture
def session(owner: User) -> Session:
    return Session.objects.create(app_name="echo", user=owner, key="s-1")


@pytest.fixture
def browser(owner: User) -> Client:
    """A browser of the owner, who is a superuser too: all pages are open. A failing page is a 500, as on a site."""
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    return client


@pytest.fixture
async def loop_end(transactional_db: None) -> AsyncIterator[None]:
    """End invocations, listeners and pools of this test's loop, before the database is emptied."""
    yield
    await shut_down()

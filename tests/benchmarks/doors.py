"""Signed-in access to sessions by websocket, for benchmarks and the stack and chaos tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect

from tests.benchmarks.people import make_person

if TYPE_CHECKING:  # models can be imported only after Django is set up
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Door:
    """Websocket path of a session, and the cookie of its user; an empty cookie connects anonymously."""

    path: str
    cookie: str


def make_doors(count: int, app_name: str) -> list[Door]:
    """Create a signed-in user with `count` sessions; return a door to each."""
    from sessions_app.models import Session

    person = make_person()
    cookie = sign_in(person)
    rows = [Session(app_name=app_name, user=person, key=uuid4().hex) for _ in range(count)]
    Session.objects.bulk_create(rows)
    return [Door(f"/ws/chat/{row.pk}/", cookie) for row in rows]


def sign_in(person: User) -> str:
    """Sign the user in and return the cookie of the browser."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    store = SessionStore()
    store[SESSION_KEY] = str(person.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()
    store.save()
    return f"{settings.SESSION_COOKIE_NAME}={store.session_key}"


async def enter(port: int, door: Door, after: int = 0) -> ClientConnection:
    """Open a websocket; a signed-in one has completed the hello frame, whose page shows the events up to `after`."""
    address = f"ws://127.0.0.1:{port}{door.path}"
    headers = {"Cookie": door.cookie, "Origin": f"http://127.0.0.1:{port}"}
    socket = await connect(
        address, additional_headers=headers, compression=None, max_queue=None, max_size=None
    )
    if door.cookie:
        await socket.send(json.dumps({"v": 1, "type": "hello", "after": after}))
        await socket.recv()
    return socket

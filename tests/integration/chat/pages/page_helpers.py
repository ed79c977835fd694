"""Rows for the tests of the chat's pages and downloads, and the addresses of both."""

from __future__ import annotations

import hashlib
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from sessions_app.models import Artifact, Event, Session


def add_event(session: Session, text: str = "", author: str = "help_desk", **body: Any) -> Event:
    session.last_seq += 1
    session.save()
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    values = {
        "id": f"id-{session.last_seq}",
        "author": author,
        "timestamp": 1.0,
        "actions": {},
        **content,
        **body,
    }
    return Event.objects.create(session=session, seq=session.last_seq, body=values)


def save_artifact(session: Session, filename: str, content: bytes = b"a,b", /, **fields: Any) -> Artifact:
    values = {"session": session, "version": 0, "mime_type": "text/csv", "part_kind": "blob", **fields}
    created = Artifact(
        app_name=session.app_name,
        user=session.user,
        filename=filename,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        **values,
    )
    created.file.save("x", ContentFile(content))
    return created


def page(session: Session) -> str:
    return reverse("chat:session", args=[session.id])


def shown_to(person: User, session: Session) -> str:
    """Return the page of the session as a new browser of the person gets it."""
    client = Client()
    client.force_login(person)
    return client.get(page(session)).content.decode()


def file_url(session: Session, filename: str) -> str:
    return reverse("chat:artifact", args=[session.id, filename])


def body_of(response: Any) -> bytes:
    """Return the whole body of a streaming response of an async view."""

    async def read() -> bytes:
        return b"".join([chunk async for chunk in response])

    return async_to_sync(read)()

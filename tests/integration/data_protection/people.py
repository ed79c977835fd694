"""People with rows of every kind, and a search through the whole database and all files."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from runtime.events import Event as AdkEvent
from runtime.events import EventActions
from sessions_app.models import Feedback, Invocation, MemoryPause, Session
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoCredentialService, DjangoMemoryService, DjangoSessionService
from tests.contracts.credential_service import config, context_of
from tests.fakes import text_content
from tests.integration.admin.audit_rows import make_artifact, make_job, make_scheduled_task

APP = "shop"


async def person_with_rows(name: str, pk: int, sessions: int = 2) -> User:
    """Create a user whose rows all carry the name, with a login and a saved credential.

    `pk` must be large: other tests take the numbers from 1.
    """
    user = await in_thread(get_user_model().objects.create_user, name, id=pk)
    for number in range(sessions):
        await session_with_rows(user, f"{name} {number}")
    await save_credential(user, f"key of {name}")
    await MemoryPause.objects.acreate(user=user)
    await in_thread(Client().force_login, user)
    return user


async def save_credential(user: User, secret: str) -> None:
    """Save an API key for the user, in a session that is deleted again."""
    sessions = DjangoSessionService()
    context = await context_of(DjangoCredentialService(), sessions, str(user.pk), APP)
    await context.save_credential(config(secret))
    await sessions.delete_session(app_name=APP, user_id=str(user.pk), session_id=context.session.id)


async def session_with_rows(user: User, text: str) -> Session:
    """Create a session with a row of every kind that contains the text."""
    service = DjangoSessionService()
    session = await service.create_session(
        app_name=APP, user_id=str(user.pk), state={"secret place": text, "user:diet": text}
    )
    for author in ("user", "clerk"):
        delta = {"last": text, "user:likes": text}
        actions = EventActions(state_delta=delta)
        await service.append_event(
            session, AdkEvent(author=author, content=text_content(text), actions=actions)
        )
    await DjangoMemoryService().add_session_to_memory(session)
    row = await Session.objects.aget(key=session.id)
    await in_thread(add_rows, row, text)
    return row


def add_rows(row: Session, text: str) -> None:
    Session.objects.filter(pk=row.pk).update(title=text)
    message = {"role": "user", "parts": [{"text": text}]}
    names = {"invocation_id": f"e-{row.pk}", "client_id": "m-1", "message": message}
    Invocation.objects.create(session=row, status="completed", **names)
    make_job(row, args={"text": text}, result={"text": text}, call_id="c-1", status="succeeded")
    make_scheduled_task(row, task=text)
    Feedback.objects.create(session=row, user_id=row.user_id, seq=2, rating="bad", comment=text)
    make_artifact(row, f"{text}.txt", text.encode())
    make_artifact(row, f"user:{row.key}.txt", text.encode())


def found_in_database(*texts: str) -> list[str]:
    """Return the tables with a row that contains any of the texts, without the records of erasures."""
    kept = ("_tombstone", "_erasedsession")
    tables = [name for name in connection.introspection.table_names() if not name.endswith(kept)]
    patterns = [f"%{text}%" for text in texts]
    with connection.cursor() as cursor:
        return [table for table in tables if has_row_like(cursor, table, patterns)]


def has_row_like(cursor: Any, table: str, patterns: list[str]) -> bool:
    cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE ANY(%s)', [patterns])
    return bool(cursor.fetchone()[0])


def files_with(text: str) -> int:
    """Return the number of files in the site's media that contain the text."""
    files = (path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file())
    return sum(text.encode() in path.read_bytes() for path in files)

"""Tools and steps of the tests that rewind sessions or edit messages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from runtime import types
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.rewind import rewind_before
from sessions_app.invocations.worker import worker
from sessions_app.models import Session
from sessions_app.sessions.ownership import own_session
from sessions_app.store import DjangoArtifactService
from tests.fakes import ScriptedModel


def remember(value: str, tool_context: ToolContext) -> str:
    """Keep a value in the state of the session, the user and the app."""
    for scope in ("", "user:", "app:"):
        tool_context.state[f"{scope}value"] = value
    return value


async def write(text: str, tool_context: ToolContext) -> int:
    """Write a file."""
    return await tool_context.save_artifact("note.txt", types.Part(text=text))


async def ask(person: User, session: Session, model: ScriptedModel, text: str, *turns: Any) -> str:
    """Send a message and wait for the end; return the invocation's id."""
    model.turns = [*turns, f"you said {text}"]
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.id, f"client {text}", text)
    await worker().wait_until_idle()
    return invocation_id


async def go_back(person: User, session_id: UUID, invocation_id: str) -> None:
    """Rewind the person's session to before the invocation."""
    await rewind_before(await own_session(person, session_id), invocation_id, actors.person(person))


async def edit(person: User, session: Session, model: ScriptedModel, text: str, replaces: str) -> str:
    """Replace a message and wait for the end; return the new invocation's id."""
    model.turns = [f"you said {text}"]
    invocation_id, _ = await use_cases.edit_message(
        actors.person(person), session.id, "edit" + replaces, text, replaces
    )
    await worker().wait_until_idle()
    return invocation_id


async def load_note(session: Session) -> types.Part | None:
    return await DjangoArtifactService().load_artifact(
        app_name="shop", user_id=str(session.user_id), session_id=session.key, filename="note.txt"
    )

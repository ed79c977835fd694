"""Builders of the events of a history, and a history's contents as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import types
from runtime.events import Event, EventActions
from runtime.events.rewound import UNDONE_REWIND_KEY


def user(text: str, **fields: Any) -> Event:
    return Event(author="user", content=types.Content(role="user", parts=[types.Part(text=text)]), **fields)


def said(text: str, author: str = "agent", **fields: Any) -> Event:
    return Event(author=author, content=types.Content(role="model", parts=[types.Part(text=text)]), **fields)


def called(*ids: str, author: str = "agent", name: str = "f", **fields: Any) -> Event:
    parts = [types.Part(function_call=types.FunctionCall(name=name, id=id_, args={})) for id_ in ids]
    return Event(author=author, content=types.Content(role="model", parts=parts), **fields)


def answered(author: str = "agent", name: str = "f", *, fields: Any = None, **results: Any) -> Event:
    """Return a function response event; `results` maps call ids to results."""
    parts = [
        types.Part(function_response=types.FunctionResponse(name=name, id=id_, response={"result": result}))
        for id_, result in results.items()
    ]
    return Event(author=author, content=types.Content(role="user", parts=parts), **(fields or {}))


def story(contents: Sequence[types.Content | None]) -> list[str]:
    """Return contents as lines `role: part | part`."""
    return [
        f"{content.role}: " + " | ".join(_part_text(part) for part in content.parts or [])
        for content in contents
        if content
    ]


def _part_text(part: types.Part) -> str:
    if part.function_call:
        return f"{part.function_call.name}#{part.function_call.id}"
    if part.function_response:
        response = part.function_response.response or {}
        return f"{part.function_response.name}#{part.function_response.id}={response.get('result')}"
    return part.text or ""


def undo_of(rewind: Event) -> Event:
    """Return the event that undoes a rewind."""
    actions = EventActions(rewind_before_invocation_id=rewind.actions.rewind_before_invocation_id)
    return Event(author="user", actions=actions, custom_metadata={UNDONE_REWIND_KEY: rewind.id})

"""Event of a person's message. Most are committed in the statement that begins their invocation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime import types
from runtime.apps.app import App
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.plugins.plugin_manager import PluginManager
from sessions_app.agent_apps import registry
from sessions_app.base.codec import event_to_json
from sessions_app.store.sql.invocation_queue import MessageEvent


def build_message_event(
    invocation_id: str,
    message: Mapping[str, Any],
    *,
    state_delta: Mapping[str, Any] | None = None,
    marks: dict[str, Any] | None = None,
) -> Event:
    """Return the event that the runner commits for a message in JSON."""
    return Event(
        author="user",
        invocation_id=invocation_id,
        content=types.Content.model_validate(message),
        actions=EventActions(state_delta=dict(state_delta or {})),
        custom_metadata=marks,
    )


def early_event(
    invocation_id: str, message: Mapping[str, Any], state_delta: Mapping[str, Any] | None
) -> MessageEvent | None:
    """Return the event to commit with a new invocation; None when the runner must make it.

    The runner makes the event of a message that changes state, or that answers calls: only the history tells which
    invocation its event belongs to.
    """
    if state_delta or answers_calls(message):
        return None
    event = build_message_event(invocation_id, message)
    apps = [name for name, app in registry.apps().items() if not _changes_messages(app)]
    return MessageEvent(event_to_json(event), event.timestamp, apps)


def answers_calls(message: Mapping[str, Any]) -> bool:
    """True when the message of an invocation is a function response."""
    return any("functionResponse" in part for part in message.get("parts", []))


def _changes_messages(app: App) -> bool:
    """True when a plugin of the app may replace a message before it is committed."""
    # One at a time: a manager refuses plugins of the same name, which must stop no other app.
    return any(PluginManager([plugin]).implements("on_user_message_callback") for plugin in app.plugins)

"""User messages whose files are stored as artifacts (contract L10)."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import InvocationContext, owner_of
from runtime.engine.build_events import user_event
from runtime.events.event import Event


async def user_message_event(
    ctx: InvocationContext, message: types.Content | None, state_delta: dict[str, Any] | None
) -> Event:
    """Return the event of a user message; save its files as artifacts when the run config says so."""
    if message is None or not ctx.run_config.save_input_blobs_as_artifacts:
        return user_event(ctx, message, state_delta)
    saved = await save_input_blobs(ctx.artifact_service, owner_of(ctx.session), message, ctx.invocation_id)
    event = user_event(ctx, saved.content, state_delta)
    event.actions.artifact_delta = saved.artifact_delta
    return event

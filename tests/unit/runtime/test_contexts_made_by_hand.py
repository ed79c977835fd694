"""Contexts that an agent's own unit tests make (contract T3)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext
from runtime.agents.callback_context import CallbackContext
from runtime.agents.readonly_context import ReadonlyContext
from runtime.context import Context
from runtime.events import EventActions
from runtime.sessions import InMemorySessionService
from runtime.tools import ToolContext
from runtime.tools.tool_confirmation import ToolConfirmation


async def invocation() -> InvocationContext:
    sessions = InMemorySessionService()
    return InvocationContext(
        invocation_id="e-1",
        agent=BaseAgent(name="clerk"),
        session=await sessions.create_session(app_name="shop", user_id="ada", state={"colour": "red"}),
        session_service=sessions,
        user_content=types.Content(role="user", parts=[types.Part(text="Hi")]),
    )


@pytest.mark.parametrize("context_class", [Context, CallbackContext, ToolContext])
async def test_a_context_takes_the_arguments_that_it_has_in_google_adk(context_class: type[Context]) -> None:
    """Contract T3."""
    actions, answer = EventActions(state_delta={"size": 1}), ToolConfirmation(confirmed=True)
    context = context_class(
        invocation_context=await invocation(),
        event_actions=actions,
        function_call_id="call-1",
        tool_confirmation=answer,
    )
    context.state["colour"] = "blue"
    assert context.actions is actions
    assert actions.state_delta == {"size": 1, "colour": "blue"}
    assert (context.function_call_id, context.tool_confirmation) == ("call-1", answer)
    assert (context.app_name, context.user_id, context.agent_name) == ("shop", "ada", "clerk")


async def test_a_readonly_context_takes_the_invocation_by_name() -> None:
    assert ReadonlyContext(invocation_context=await invocation()).state["colour"] == "red"

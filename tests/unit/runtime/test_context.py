"""Contexts of callbacks and tools (contract S6, F2, L10, Q16, T3)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, RunConfig
from runtime.agents.callback_context import CallbackContext
from runtime.agents.readonly_context import ReadonlyContext
from runtime.artifacts import InMemoryArtifactService
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.context import Context, InvocationContext
from runtime.errors import ConfigurationError, LlmCallsLimitExceededError
from runtime.events import EventActions
from runtime.memory import InMemoryMemoryService
from runtime.sessions import InMemorySessionService
from runtime.tools import ToolContext


async def invocation(**services: Any) -> InvocationContext:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="shop", user_id="ada", session_id="s", state={"a": 1})
    return InvocationContext(
        invocation_id="e-1",
        agent=BaseAgent(name="clerk"),
        session=session,
        session_service=sessions,
        **services,
    )


async def test_the_readonly_state_refuses_writes_and_shows_those_of_other_code() -> None:
    """Contract Q16."""
    ctx = await invocation()
    readonly = ReadonlyContext(ctx)
    with pytest.raises(TypeError):
        readonly.state["a"] = 2  # type: ignore[index]
    Context(ctx).state["a"] = 3
    assert readonly.state["a"] == 3


async def test_a_readonly_context_identifies_session_and_agent() -> None:
    ctx = await invocation(user_content=types.Content(role="user", parts=[]))
    readonly = ReadonlyContext(ctx)
    assert (readonly.invocation_id, readonly.agent_name, readonly.user_id) == ("e-1", "clerk", "ada")
    assert readonly.user_content is ctx.user_content
    assert readonly.session is ctx.session
    assert readonly.run_config == RunConfig()


async def test_the_public_names_are_aliases_of_one_class() -> None:
    assert CallbackContext is ToolContext is Context
    assert issubclass(Context, ReadonlyContext)


async def test_state_writes_are_recorded_in_the_actions_and_readable_at_once() -> None:
    """Contract S6."""
    ctx = await invocation()
    first, second = Context(ctx), Context(ctx)
    first.state["b"] = 2
    first.state["temp:c"] = 3
    assert first.actions.state_delta == {"b": 2, "temp:c": 3}
    assert (second.state["b"], second.state["temp:c"]) == (2, 3)
    assert second.actions.state_delta == {}


async def test_a_saved_artifact_is_recorded_in_the_actions() -> None:
    """Contract F2, T3."""
    context = Context(await invocation(artifact_service=InMemoryArtifactService()))
    assert await context.save_artifact("a.txt", types.Part(text="x")) == 0
    assert await context.save_artifact("a.txt", types.Part(text="y")) == 1
    assert await context.save_artifact("user:b", types.Part(text="z")) == 0
    assert context.actions.artifact_delta == {"a.txt": 1, "user:b": 0}
    assert await context.list_artifacts() == ["a.txt", "user:b"]
    latest, first = await context.load_artifact("a.txt"), await context.load_artifact("a.txt", version=0)
    assert latest is not None and first is not None
    assert (latest.text, first.text, await context.load_artifact("c")) == ("y", "x", None)


async def test_memory_is_searched_for_the_sessions_user() -> None:
    """Contract T3."""
    context = Context(await invocation(memory_service=InMemoryMemoryService()))
    assert (await context.search_memory("tea")).memories == []
    await context.add_session_to_memory()


async def test_a_credential_of_the_message_is_found_by_its_key() -> None:
    """Contract T8."""
    ctx = await invocation()
    key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
    ctx.scope.credentials["shop"] = key
    assert ReadonlyContext(ctx).get_credential("shop") == key
    assert Context(ctx).get_credential("other") is None


async def test_members_of_google_adk_that_nothing_reads_are_absent() -> None:
    context = Context(await invocation())
    assert not hasattr(context, "render_ui_widget")
    for field in ("transfer_reason", "render_ui_widgets"):
        with pytest.raises(ValueError, match=field):
            EventActions.model_validate({field: ["x"]})


async def test_a_missing_service_is_named_with_the_remedy() -> None:
    context = Context(await invocation())
    with pytest.raises(ConfigurationError, match="artifact_service"):
        await context.list_artifacts()
    with pytest.raises(ConfigurationError, match="memory_service"):
        await context.search_memory("tea")


async def test_only_tools_may_request_a_confirmation() -> None:
    """Contract T3."""
    ctx = await invocation()
    with pytest.raises(ConfigurationError, match="request_confirmation"):
        Context(ctx).request_confirmation(hint="Sure?")
    tool = Context(ctx, function_call_id="c1")
    tool.request_confirmation(hint="Sure?", payload={"n": 1})
    [(call_id, asked)] = tool.actions.requested_tool_confirmations.items()
    assert (call_id, asked.hint, asked.payload, asked.confirmed) == ("c1", "Sure?", {"n": 1}, False)


@pytest.mark.parametrize("limit", [1, 3])
async def test_an_invocation_makes_as_many_model_calls_as_its_limit_allows(limit: int) -> None:
    """All agent calls of the invocation share the count (contract L10)."""
    ctx = await invocation()
    for _ in range(limit):
        ctx.for_agent(BaseAgent(name="other")).scope.spend_llm_call(limit)
    with pytest.raises(LlmCallsLimitExceededError, match=f"limit of {limit} exceeded"):
        ctx.scope.spend_llm_call(limit)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_of_zero_or_less_means_no_limit(limit: int) -> None:
    """Contract L10."""
    ctx = await invocation()
    for _ in range(1000):
        ctx.scope.spend_llm_call(limit)
    assert ctx.scope.llm_calls == 1000


async def test_an_agent_may_count_a_call_of_its_own() -> None:
    ctx = await invocation()
    ctx.run_config = RunConfig(max_llm_calls=1)
    ctx.increment_llm_call_count()
    with pytest.raises(LlmCallsLimitExceededError):
        ctx.increment_llm_call_count()


def test_the_default_limit_is_500() -> None:
    """Contract L10."""
    assert RunConfig().max_llm_calls == 500

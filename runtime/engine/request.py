"""Builds the one `LlmRequest` of a step (spec A8, Q13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import types
from runtime.context import Context, InvocationContext
from runtime.engine.history import build_contents
from runtime.engine.instructions import render_instructions
from runtime.engine.tools import resolve_tools
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import LlmRequest

if TYPE_CHECKING:
    from runtime.agents.llm_agent import LlmAgent

AGENT_LABEL = "adk_agent_name"


async def build_request(agent: LlmAgent, ctx: InvocationContext, model: BaseLlm) -> LlmRequest:
    """A fresh request: configuration, instructions, contents, tools.

    After this only the public extension points change it: each tool's `process_llm_request` in the order of
    `agent.tools`, then `before_model` of the plugins and of the agent.
    """
    tools = await resolve_tools(agent, ctx)
    request = LlmRequest(model=model.model, contents=build_contents(agent, ctx), config=_config(agent))
    request.append_instructions(await render_instructions(agent, ctx))
    if agent.output_schema and not tools:
        request.set_output_schema(agent.output_schema)
    for tool in tools:
        await tool.process_llm_request(tool_context=Context(ctx), llm_request=request)
    return request


def _config(agent: LlmAgent) -> types.GenerateContentConfig:
    given = agent.generate_content_config
    config = given.model_copy(deep=True) if given else types.GenerateContentConfig()
    config.labels = {**(config.labels or {}), AGENT_LABEL: agent.name}
    return config

"""The instruction text of a request: global, the agent's own, its identity, where it may transfer (spec A3, A6)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from runtime.context import InvocationContext, ReadonlyContext
from runtime.engine.transfer import transfer_targets
from runtime.utils.instructions_utils import inject_session_state

if TYPE_CHECKING:
    from runtime.agents.base_agent import BaseAgent
    from runtime.agents.llm_agent import LlmAgent

InstructionProvider = Callable[[ReadonlyContext], str | Awaitable[str]]


async def render_instructions(agent: LlmAgent, ctx: InvocationContext) -> list[str]:
    """The paragraphs of the system instruction, in order; empty ones are left out."""
    readonly = ReadonlyContext(ctx)
    paragraphs = [
        await render(agent.root_global_instruction, readonly),
        await render(agent.instruction, readonly),
        _identity(agent),
        _transfers(agent),
    ]
    return [paragraph for paragraph in paragraphs if paragraph]


async def render(instruction: str | InstructionProvider, context: ReadonlyContext) -> str:
    """A template filled from the state, or a provider's text as it is."""
    if isinstance(instruction, str):
        return await inject_session_state(instruction, context) if "{" in instruction else instruction
    text = instruction(context)
    return await text if inspect.isawaitable(text) else text


def _identity(agent: LlmAgent) -> str:
    described = f' Your description is "{agent.description}".' if agent.description else ""
    return f'You are an agent. Your internal name is "{agent.name}".{described}'


def _transfers(agent: LlmAgent) -> str:
    targets = transfer_targets(agent)
    if not targets:
        return ""
    names = ", ".join(f"`{target.name}`" for target in targets)
    described = "\n".join(_description(target) for target in targets)
    text = (
        f"These agents can take over the conversation:\n{described}\n"
        "If one of them is better suited to answer, by its description, call `transfer_to_agent` with its name and "
        f"say nothing else. The names are {names}; there are no others."
    )
    if agent.parent_agent in targets:
        text += (
            f" If none of them suits and neither do you, transfer to your parent `{agent.parent_agent.name}`."
        )
    return text


def _description(target: BaseAgent) -> str:
    return f"- {target.name}: {target.description or 'no description'}"

"""The instructions of a request: global, static, the agent's own, its identity, where it may transfer (spec A3, A6)."""

from __future__ import annotations

from dataclasses import dataclass

from runtime import types
from runtime.context import AgentProtocol, InvocationContext, ReadonlyContext
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.transfer import transfer_targets
from runtime.errors import ConfigurationError
from runtime.utils.instructions_utils import render_instruction


@dataclass(frozen=True)
class Instructions:
    """What an agent's model is told.

    Attributes:
        system: the paragraphs of the system instruction.
        beside: what goes to the contents when there is a static instruction, so that the system instruction stays
            the same: its files, for models take text only there, and the agent's own instruction.
    """

    system: list[str]
    beside: list[types.Part]

    def put_beside(self, contents: list[types.Content]) -> list[types.Content]:
        """The contents with `beside` before what the person said last, or after the latest responses."""
        if not self.beside:
            return contents
        index = len(contents)
        while index > 0 and _is_said_by_user(contents[index - 1]):
            index -= 1
        return [*contents[:index], types.Content(role="user", parts=self.beside), *contents[index:]]


async def render_instructions(agent: LlmAgentProtocol, ctx: InvocationContext) -> Instructions:
    """The agent's instructions for one request, filled in from the state.

    Raises:
        KeyError: a template names a key that the state does not have.
    """
    readonly = ReadonlyContext(ctx)
    overall = await render_instruction(agent.root_global_instruction, readonly)
    own = await render_instruction(agent.instruction, readonly)
    static = static_parts(agent.static_instruction)
    fixed = "\n\n".join(part.text for part in static if part.text)
    paragraphs = [overall, fixed if static else own, _identity(agent), _transfers(agent)]
    beside = [part for part in static if part.text is None]
    if static and own:
        beside.append(types.Part(text=own))
    return Instructions([paragraph for paragraph in paragraphs if paragraph], beside)


def static_parts(content: types.ContentUnion | None) -> list[types.Part]:
    """The parts of a static instruction, whatever form it has.

    Raises:
        ConfigurationError: it holds something that cannot be sent.
    """
    if not content:
        return []
    if isinstance(content, types.Content):
        return content.parts or []
    return [_as_part(item) for item in (content if isinstance(content, list) else [content])]


def _as_part(item: types.PartUnion) -> types.Part:
    if isinstance(item, types.Part):
        return item
    if isinstance(item, str):
        return types.Part(text=item)
    if isinstance(item, types.File):
        return types.Part(file_data=types.FileData(file_uri=item.uri, mime_type=item.mime_type))
    raise ConfigurationError(
        f"static_instruction cannot hold a {type(item).__name__}: give text, a types.Part, a types.File or a "
        "types.Content."
    )


def _is_said_by_user(content: types.Content) -> bool:
    return content.role == "user" and not any(part.function_response for part in content.parts or [])


def _identity(agent: LlmAgentProtocol) -> str:
    described = f' Your description is "{agent.description}".' if agent.description else ""
    return f'You are an agent. Your internal name is "{agent.name}".{described}'


def _transfers(agent: LlmAgentProtocol) -> str:
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


def _description(target: AgentProtocol) -> str:
    return f"- {target.name}: {target.description or 'no description'}"

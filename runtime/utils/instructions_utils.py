"""Instruction templates: `{key}`, `{key?}`, `{user:key}`, `{artifact.name}` (contract A3)."""

import inspect
import re
from collections.abc import Awaitable, Callable

from runtime.context import Context, ReadonlyContext
from runtime.sessions.state import State

InstructionProvider = Callable[[ReadonlyContext], str | Awaitable[str]]

_PLACEHOLDER = re.compile(r"(?<![${]){+[^{}]*}+")  # `${name}` is text, as shells and scripts write it.
_ARTIFACT = "artifact."
_PREFIXES = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)


async def render_instruction(instruction: str | InstructionProvider, context: ReadonlyContext) -> str:
    """Return a template filled from the state, or the unchanged text of a provider.

    Raises:
        KeyError: as `inject_session_state`.
    """
    text, is_provided = await given_text(instruction, context)
    if is_provided or "{" not in text:
        return text
    return await inject_session_state(text, context)


async def given_text(instruction: str | InstructionProvider, context: ReadonlyContext) -> tuple[str, bool]:
    """Return the template, or the provider's text, and True if it is a provider's text."""
    if isinstance(instruction, str):
        return instruction, False
    text = instruction(context)
    # A provider has read the state itself; braces in its text are meant literally.
    return (await text if inspect.isawaitable(text) else text), True


async def inject_session_state(template: str, readonly_context: ReadonlyContext) -> str:
    """Fill in a template from state and artifacts. Braces without a valid name are kept unchanged.

    Raises:
        KeyError: a key or an artifact is missing; the message names it. A missing `{key?}` becomes an empty string.
    """
    filled: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(template):
        filled += [template[end : match.start()], await _resolve(match.group(), readonly_context)]
        end = match.end()
    return "".join([*filled, template[end:]])


async def _resolve(placeholder: str, context: ReadonlyContext) -> str:
    name = placeholder.strip("{}").strip()
    is_optional = name.endswith("?")
    name = name.removesuffix("?")
    if name.startswith(_ARTIFACT):
        return await _load_artifact_text(name.removeprefix(_ARTIFACT), is_optional, context)
    if not _is_state_key(name):
        return placeholder
    state = context.state
    if name in state:
        return "" if state[name] is None else str(state[name])
    if is_optional:
        return ""
    raise KeyError(
        f"Context variable not found: {name!r}. The instruction names it, and the state has no such key. "
        f"Write {{{name}?}} if it may be missing."
    )


async def _load_artifact_text(name: str, is_optional: bool, context: ReadonlyContext) -> str:
    part = await Context(context.invocation).load_artifact(name)
    if part is None:
        if is_optional:
            return ""
        raise KeyError(f"Artifact {name!r} not found. The instruction names {{artifact.{name}}}.")
    if part.text is not None:
        return part.text
    if part.inline_data and part.inline_data.data:
        return part.inline_data.data.decode(errors="replace")
    return ""


def _is_state_key(name: str) -> bool:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix).isidentifier()
    return name.isidentifier()

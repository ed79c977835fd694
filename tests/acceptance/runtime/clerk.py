"""An agent with tools for the tests of function calls, and three functions for it to call."""

from __future__ import annotations

from typing import Any

from runtime.agents import LlmAgent
from runtime.events import Event
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel

STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)


def clerk(*turns: Any, tools: list[Any], **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=tools, **fields)


def answers(event: Event) -> dict[str, Any]:
    """Return the responses of an event, by the name of the function."""
    return {response.name or "": response.response for response in event.get_function_responses()}


def add(a: int, b: int = 1) -> int:
    """Add numbers."""
    return a + b


def nothing() -> None:
    """Return nothing."""


def fails() -> None:
    """Fail."""
    raise LookupError("lost")

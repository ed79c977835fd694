"""The demo model's answers, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from adk_site.demo.model.parsed_request import QUESTION_PREFIX, ParsedRequest
from adk_site.demo.model.words import first_paragraph, readable
from runtime import types

ABOUT_ME = "I am a small demo model: I match your words with the tools that I was given, and no more."
UNFINISHED = {"queued", "pending", "running", "started", "in_progress"}
SUCCEEDED = {"ok", "success", "succeeded"}
MAX_LIST_ITEM = 40
"""Characters; lists of longer items get a line for each item."""
PROSE_KEYS = ("summary", "message")
"""Keys of function responses whose values are shown as they are."""
_THANKS = re.compile(r"\b(thanks?|thank you|cheers|great|perfect)\b", re.I)
_FAREWELL = re.compile(r"\b(bye|goodbye|see you)\b", re.I)
_GREETING = re.compile(r"^\W*(hello|hi|hey|good (morning|afternoon|evening))\b", re.I)
_ABILITY = re.compile(r"\b(what|who|how|help|can you)\b", re.I)


def small_talk(request: ParsedRequest) -> str:
    """Return the answer to words that match no function and no agent."""
    if request.is_due:
        return f"It is time: {request.words}"
    name = f" {request.person}" if request.person else ""
    if _THANKS.search(request.words):
        return f"You are welcome{',' + name if name else ''}!"
    if _FAREWELL.search(request.words):
        return f"Goodbye{',' + name if name else ''}!"
    if _GREETING.search(request.words):
        return f"Hello{name}! {ABOUT_ME} Ask me what I can do."
    if _ABILITY.search(request.words):
        return _describe_abilities(request)
    return f"I do not know what to do with that. {_describe_abilities(request)}"


def ask_for(function: types.FunctionDeclaration, missing: list[str]) -> str:
    """Return a question for the missing arguments."""
    properties = (function.parameters.properties or {}) if function.parameters else {}
    descriptions = [properties[name].description or readable(name) for name in missing]
    listed = " and ".join(text[0].lower() + text[1:].rstrip(".") for text in descriptions)
    return f"{QUESTION_PREFIX} {listed}. Please tell me."


def describe_results(responses: Iterable[types.FunctionResponse], long_running: set[str]) -> str:
    """Return a text that presents the function responses; `long_running` names the long-running tools."""
    return "\n\n".join(
        _describe_result(response.name or "", response.response or {}, response.name in long_running)
        for response in responses
    )


def _describe_abilities(request: ParsedRequest) -> str:
    tools = [
        f"- **{readable(function.name or '')}**: {first_paragraph(function.description or '')}"
        for function in request.functions
    ]
    agents = [f"- **{readable(name)}** can take over: {about}" for name, about in request.agents.items()]
    if not tools and not agents:
        return f"{ABOUT_ME} Here I was given none."
    return "\n".join([f"{ABOUT_ME} Here I can do this:", "", *tools, *agents])


def _describe_result(name: str, data: dict[str, Any], is_long_running: bool) -> str:
    tool = f"**{readable(name)}**"
    status = data.get("status")
    if error := data.get("error"):
        return f"{tool} did not work: {error}"
    if status == "cancelled":
        return f"{tool} was cancelled."
    if is_long_running and status in UNFINISHED and data.get("run_at"):
        return f"{tool} is to start at {data['run_at']}. I will tell you here when it is done."
    if is_long_running and status in UNFINISHED:
        return f"I have started {tool}. It takes a while; I will tell you here when it is done."
    prose = [str(data[key]) for key in PROSE_KEYS if data.get(key)]
    rest = {key: value for key, value in data.items() if key not in PROSE_KEYS and value is not None}
    if status in SUCCEEDED:
        del rest["status"]
    lines = [f"- {readable(key).capitalize()}: {_format_value(value)}" for key, value in rest.items()]
    if prose:
        return "\n\n".join([*prose, "\n".join(lines)]).strip()
    if len(lines) == 1:
        return f"{tool}: {lines[0].removeprefix('- Result: ').removeprefix('- ')}."
    return "\n".join([f"Here is what I got from {tool}:", "", *lines]) if lines else f"{tool} is done."


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return (
            ", ".join(f"{readable(str(key))} {_format_value(item)}" for key, item in value.items()) or "none"
        )
    if isinstance(value, list) and all(
        isinstance(item, str) and len(item) <= MAX_LIST_ITEM for item in value
    ):
        return ", ".join(value) or "none"
    if isinstance(value, list):
        return "".join(f"\n  {number}. {_format_value(item)}" for number, item in enumerate(value, 1))
    return "unknown" if value is None else str(value)

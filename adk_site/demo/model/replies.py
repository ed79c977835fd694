"""What the demo model says, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from adk_site.demo.model.turn import ASKING, Turn
from adk_site.demo.model.words import first_paragraph, readable
from runtime import types

ABOUT_ME = "I am a small demo model: I match your words with the tools that I was given, and no more."
WAITING = {"queued", "pending", "running", "started", "in_progress"}
SUCCEEDED = {"ok", "success", "succeeded"}
SHORT = 40
SPOKEN = ("summary", "message")
_THANKS = re.compile(r"\b(thanks?|thank you|cheers|great|perfect)\b", re.I)
_FAREWELL = re.compile(r"\b(bye|goodbye|see you)\b", re.I)
_GREETING = re.compile(r"^\W*(hello|hi|hey|good (morning|afternoon|evening))\b", re.I)
_ABILITY = re.compile(r"\b(what|who|how|help|can you)\b", re.I)


def small_talk(turn: Turn) -> str:
    """An answer to words that ask for no tool."""
    if turn.is_due:
        return f"It is time: {turn.words}"
    name = f" {turn.person}" if turn.person else ""
    if _THANKS.search(turn.words):
        return f"You are welcome{',' + name if name else ''}!"
    if _FAREWELL.search(turn.words):
        return f"Goodbye{',' + name if name else ''}!"
    if _GREETING.search(turn.words):
        return f"Hello{name}! {ABOUT_ME} Ask me what I can do."
    if _ABILITY.search(turn.words):
        return _abilities(turn)
    return f"I do not know what to do with that. {_abilities(turn)}"


def ask_for(function: types.FunctionDeclaration, missing: list[str]) -> str:
    """A question for the arguments that the words left open."""
    properties = (function.parameters.properties or {}) if function.parameters else {}
    wanted = [properties[name].description or readable(name) for name in missing]
    listed = " and ".join(text[0].lower() + text[1:].rstrip(".") for text in wanted)
    return f"{ASKING} {listed}. Please tell me."


def tell(responses: Iterable[types.FunctionResponse], pending_names: set[str]) -> str:
    """What came of the calls."""
    return "\n\n".join(
        _result(response.name or "", response.response or {}, response.name in pending_names)
        for response in responses
    )


def _abilities(turn: Turn) -> str:
    tools = [
        f"- **{readable(function.name or '')}**: {first_paragraph(function.description or '')}"
        for function in turn.functions
    ]
    agents = [f"- **{readable(name)}** can take over: {about}" for name, about in turn.agents.items()]
    if not tools and not agents:
        return f"{ABOUT_ME} Here I was given none."
    return "\n".join([f"{ABOUT_ME} Here I can do this:", "", *tools, *agents])


def _result(name: str, data: dict[str, Any], may_come_later: bool) -> str:
    tool = f"**{readable(name)}**"
    status = data.get("status")
    if error := data.get("error"):
        return f"{tool} did not work: {error}"
    if status == "cancelled":
        return f"{tool} was cancelled."
    if may_come_later and status in WAITING and data.get("run_at"):
        return f"{tool} is to start at {data['run_at']}. I will tell you here when it is done."
    if may_come_later and status in WAITING:
        return f"I have started {tool}. It takes a while; I will tell you here when it is done."
    spoken = [str(data[key]) for key in SPOKEN if data.get(key)]
    rest = {key: value for key, value in data.items() if key not in SPOKEN and value is not None}
    if status in SUCCEEDED:
        del rest["status"]
    lines = [f"- {readable(key).capitalize()}: {_value(value)}" for key, value in rest.items()]
    if spoken:
        return "\n\n".join([*spoken, "\n".join(lines)]).strip()
    if len(lines) == 1:
        return f"{tool}: {lines[0].removeprefix('- Result: ').removeprefix('- ')}."
    return "\n".join([f"Here is what I got from {tool}:", "", *lines]) if lines else f"{tool} is done."


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{readable(str(key))} {_value(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list) and all(isinstance(item, str) and len(item) <= SHORT for item in value):
        return ", ".join(value) or "none"
    if isinstance(value, list):
        return "".join(f"\n  {number}. {_value(item)}" for number, item in enumerate(value, 1))
    return "unknown" if value is None else str(value)

"""The demo model: a script instead of a language model, for a site without an API key.

`script.py` has the messages that it understands. An agent with the tool that a message asks for calls it; an agent that
can transfer to the tool's agent does so. Asked to draw, the model answers with pictures; to any other message with a
list of examples. The answer to a result is a text, so the model never calls tools in a loop. All other tools are called
by name, as in `price item=lamp`: the model works for any agent.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from adk_site.demo import DEMO_MODEL
from adk_site.demo.recalled import facts_in, passage_in, scheduled_in, told_in
from adk_site.demo.script import (
    ABOUT_ME,
    DAYS,
    DIGITS,
    DRAW,
    EXAMPLES,
    NUMBERS,
    REPORT_CHOICES,
    SCRIPT,
    SMALL_TALK,
    SPECIALISTS,
    WHEN,
)
from adk_site.demo.sourced import SOURCED, grounding
from runtime import types
from runtime.events.calls import ResponseStatus
from runtime.events.quotation import is_quotation
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.models.llm_response import parts_in
from sessions_app.history.call_state import WAITING
from sessions_app.history.event_marks import IT_IS_TIME
from sessions_app.remembering.fact_request import Facts

TRANSFER = "transfer_to_agent"


class DemoModel(BaseLlm):
    """Model that answers by a script, and says so.

    Attributes:
        delay: seconds between two words of a streamed answer.
    """

    is_scripted: ClassVar[bool] = True

    model: str = DEMO_MODEL
    delay: float = 0.03

    @classmethod
    def supported_models(cls) -> list[str]:
        return [DEMO_MODEL]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer the request. Never yield an error response. The reported usage counts words."""
        parts = _Script(llm_request).answer()
        text = "".join(part.text or "" for part in parts)
        if stream:
            for word in re.findall(r"\s*+\S+|\s+", text):
                await asyncio.sleep(self.delay)
                yield LlmResponse(content=types.ModelContent([types.Part(text=word)]), partial=True)
        asked: list[str] = []
        for content in llm_request.contents:
            asked += [part.text or "" for part in parts_in(content)]
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=len(" ".join(asked).split()), candidates_token_count=len(text.split())
        )
        usage.total_token_count = len(" ".join([*asked, text]).split())
        yield LlmResponse(
            content=types.ModelContent(parts),
            finish_reason=types.FinishReason.STOP,
            usage_metadata=usage,
            grounding_metadata=grounding() if text == SOURCED else None,
            model_version=DEMO_MODEL,
        )


class _Script:
    def __init__(self, request: LlmRequest) -> None:
        self.contents = request.contents
        self.is_about_facts = request.config.response_schema is Facts
        self.long_running = {name for name, tool in request.tools_dict.items() if tool.is_long_running}
        self.tools: dict[str, list[str]] = {}  # parameters by tool
        self.agents: list[str] = []
        for tool in request.config.tools or []:
            for function in getattr(tool, "function_declarations", None) or []:
                properties = (function.parameters and function.parameters.properties) or {}
                self.tools[function.name] = list(properties)
                if function.name == TRANSFER:
                    self.agents = properties["agent_name"].enum or []

    def answer(self) -> list[types.Part]:
        """Return the parts of the answer: calls, a transfer, pictures, or a text."""
        last = self.contents[-1] if self.contents else None
        if self.is_about_facts:
            return [types.Part(text=facts_in(parts_in(last)[0].text or ""))]
        responses = [part.function_response for part in parts_in(last) if part.function_response]
        if responses:
            choice = (responses[0].response or {}).get("result")
            # The answer to `get_user_choice`: write the chosen report.
            if choice in REPORT_CHOICES:
                return self._play(f"write a report on {choice}")
            return [types.Part(text="\n\n".join(self._describe(response) for response in responses))]
        message, is_due = self._last_message()
        found = self._call_typed(message) or self._schedule(message) or self._play(message) or _draw(message)
        if found:
            return found
        if is_due:
            reminder = re.fullmatch("remind me (to .+)", message, re.IGNORECASE)
            return [types.Part(text=f"It is time {reminder[1]}." if reminder else f"It is time: {message}")]
        return [types.Part(text=self._talk(message))]

    def _last_message(self) -> tuple[str, bool]:
        """Return the text of the last message, and whether it is a scheduled task that is due."""
        for content in reversed(self.contents):
            texts = [part.text for part in content.parts or [] if part.text]
            if content.role == "user" and texts and not is_quotation(content):
                is_due = texts[0] == IT_IS_TIME
                # Later texts come from attached files.
                message = " ".join(texts[int(is_due)].replace("\u2019", "'").split())
                return re.sub("^please,? |,? please$", "", message.rstrip(".!"), flags=re.IGNORECASE), is_due
        return "", False

    def _call_typed(self, message: str) -> list[types.Part]:
        """Return the call in a message such as `price item=lamp`; nothing for other messages."""
        tool, _, rest = message.partition(" ")
        pairs = re.findall(r"\b(\w+)=(\S+)", rest)
        # The whole rest must be arguments: a sentence that contains a `=` is no call.
        if tool not in self.tools or " ".join(f"{name}={value}" for name, value in pairs) != rest:
            return []
        args: dict[str, Any] = dict(pairs)
        for name, value in pairs:
            if re.fullmatch(DIGITS, value):
                args[name] = int(value)
        return self._call(tool, args)

    def _schedule(self, message: str) -> list[types.Part]:
        """Return the call that schedules a command; nothing without a time, or if the script has no such command."""
        found = WHEN.search(message)
        if not found or message.endswith("?"):
            return []
        task = (message[: found.start()] + message[found.end() :]).strip()
        if found["day"]:
            days = DAYS[found["day"].lower()]
            start = {"every": f"{found['minute'] or 0} {found['hour']} * * {days}"}
        else:
            count = found["count"] or ""
            if not count.isdecimal():
                count = "1"
            span = f"{count} {found['unit'].lower()}"
            if found["word"].lower() == "in":
                start = {"run_at": f"in {span}"}
            else:
                start = {"every": span}
        calls = self._play(task)
        call = calls[0].function_call if calls else None
        # A job tool can be delayed itself; a scheduled task would ask the model again.
        if call and call.name == "write_report" and "run_at" in start:
            return self._call("write_report", {**(call.args or {}), **start})
        if calls or re.match(r"remind me\b", task, re.IGNORECASE):
            return self._call("schedule_task", {"task": task, **start})
        return []

    def _play(self, message: str) -> list[types.Part]:
        """Return the calls that the message requests; nothing if it matches no pattern."""
        for tool, pattern in SCRIPT.items():
            match = re.fullmatch(pattern, message, re.IGNORECASE)
            if match:
                return self._call(tool, *_arguments_of(tool, match))
        return []

    def _call(self, tool: str, *calls: dict[str, Any]) -> list[types.Part]:
        """Return calls of the tool, or a transfer to its agent; nothing if the agent can do neither."""
        if tool in self.tools:
            return [types.Part.from_function_call(name=tool, args=args) for args in calls]
        if _agent_of(tool) in self.agents:
            return [types.Part.from_function_call(name=TRANSFER, args={"agent_name": _agent_of(tool)})]
        return []

    def _talk(self, message: str) -> str:
        """Return the answer to a message that calls nothing: small talk, or examples of what can be typed here."""
        for pattern, text in SMALL_TALK.items():
            if re.fullmatch(pattern, message, re.IGNORECASE):
                return text
        here = {"", *self.agents, *(_agent_of(tool) for tool in SCRIPT if tool in self.tools)}
        examples = [example for agent, example in EXAMPLES if agent in here]
        for tool, names in self.tools.items():
            if tool not in SCRIPT and tool not in (TRANSFER, "schedule_task"):
                examples.append(f"`{' '.join([tool, *(f'{name}=…' for name in names)])}`")
        return "\n- ".join([ABOUT_ME, *examples])

    def _describe(self, response: types.FunctionResponse) -> str:
        """Return the result of a call as Markdown."""
        result = dict(response.response or {})
        tool = f"**{(response.name or '').replace('_', ' ').capitalize()}**"
        if response.name == "load_memory":
            return told_in(result)
        if response.name == "search_knowledge":
            return passage_in(result)
        if result.get("error"):
            return f"{tool} did not work: {result['error']}"
        if response.name in ("schedule_task", "list_scheduled_tasks"):
            return scheduled_in(result.get("scheduled_tasks", [result]))
        if response.name in self.long_running and result.get("status") in WAITING:
            return f"{tool} has begun. I will tell you here when it is done."
        prose = [str(result.pop(key)) for key in ("summary", "message") if result.get(key)]
        lines = []
        for key, value in result.items():
            if value not in (None, ResponseStatus.SUCCEEDED):
                lines.append(f"- {key.replace('_', ' ').capitalize()}: {_text(value)}")
        introduction = f"{tool}:" if lines else f"{tool} is done."
        return "\n\n".join([*(prose or [introduction]), "\n".join(lines)]).strip()


def _arguments_of(tool: str, match: re.Match[str]) -> list[dict[str, Any]]:
    """Return the arguments of each call that the message requests."""
    args: dict[str, Any] = {name: value for name, value in match.groupdict().items() if value}
    if tool == "get_user_choice":
        return [{"options": REPORT_CHOICES}]
    if tool == "write_report":
        return [{name: name == "precise" or value.lower() for name, value in args.items()}]
    if tool == "cancel_scheduled_task":
        return [{"id": int(match["id"])}]
    orders = re.findall(DIGITS, args.pop("order_number", ""))
    return [{"order_number": int(order)} for order in orders] or [args]


def _draw(message: str) -> list[types.Part]:
    """Return the pictures that the message asks for, with a text; nothing for other messages."""
    asked = re.fullmatch(DRAW, message, re.IGNORECASE)
    if not asked:
        return []
    if find_spec("PIL") is None:  # Pillow is in requirements-demo.txt.
        return [types.Part(text="I draw with Pillow, which is not installed here.")]
    draw_picture = import_module("adk_site.demo.picture").draw_picture
    parts = [types.Part(text=f"I can draw hills at sunset only. I was thinking of {asked['subject']}.")]
    for number in range(NUMBERS.get((asked["number"] or "").lower(), 1)):
        data = draw_picture(f"{asked['subject']} {number}")
        parts.append(types.Part.from_bytes(data=data, mime_type="image/png"))
    return parts


def _agent_of(tool: str) -> str:
    return next((agent for agent, tools in SPECIALISTS.items() if tool in tools), "help_desk")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "".join(f"\n  {number}. {_text(item)}" for number, item in enumerate(value, 1))
    return str(value)

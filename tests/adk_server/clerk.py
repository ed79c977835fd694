"""Agent whose scripted model does as it is told: `call NAME {arguments}`; it runs in google-adk and here."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from google.genai import types

from runtime.agents import LlmAgent
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext

APP = "clerk"


class ObedientModel(BaseLlm):
    """Calls the function that the message names, says the result of a call, and repeats any other message."""

    is_scripted: ClassVar[bool] = True

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = (llm_request.contents[-1].parts or [types.Part()])[-1]
        if part.function_response is not None:
            text = f"The result is {json.dumps(part.function_response.response, sort_keys=True)}"
        elif asked := re.fullmatch(r"call (\w+) (.*)", part.text or ""):
            call = types.FunctionCall(name=asked[1], args=json.loads(asked[2]))
            yield _response(types.Part(function_call=call))
            return
        else:
            text = f"You said: {part.text}"
        if stream:
            for word in re.split("(?<= )", text):
                yield _response(types.Part(text=word), partial=True)
        yield _response(types.Part(text=text))


def _response(part: types.Part, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)


async def note(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Write a note to the state and into a file."""
    tool_context.state["note"] = text
    tool_context.state["user:notes"] = 1
    version = await tool_context.save_artifact("notes/today.txt", types.Part(text=text))
    return {"version": version}


def pay(amount: int) -> dict[str, Any]:
    """Pay an amount."""
    return {"paid": amount}


def ask_manager(question: str) -> dict[str, Any]:
    """Ask the manager, who answers later."""
    return {"status": "asked"}


def clerk() -> LlmAgent:
    """Return the agent."""
    asking = LongRunningFunctionTool(ask_manager)
    asking.answered_by = "person"  # an attribute of the runtime, which google-adk does not look at
    tools = [note, FunctionTool(pay, require_confirmation=True), asking]
    return LlmAgent(name=APP, description="Does as told", model=ObedientModel(model="obedient"), tools=tools)

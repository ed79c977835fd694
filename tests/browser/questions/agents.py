"""The agent `questions`: its tools ask the person something, or wait for the test, before they answer.

Its task agent asks by messages of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from django.conf import settings
from pydantic import BaseModel

from runtime import types
from runtime.agents import LlmAgent
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import (
    APIKey,
    ApiKeyLocation,
    AuthScheme,
    HTTPBase,
    HTTPBearer,
    OAuth2,
    OAuthFlow,
    OAuthFlows,
)
from runtime.models import BaseLlm, LLMRegistry, LlmRequest, LlmResponse
from runtime.tools import FunctionTool, ToolContext, get_user_choice

SCHEMES: dict[str, AuthScheme] = {
    "key": APIKey(in_=ApiKeyLocation.HEADER, name="X-Key", description="The key of the weather service."),
    "basic": HTTPBase(scheme="basic"),
    "bearer": HTTPBearer(),
    "oauth": OAuth2(flows=OAuthFlows(authorization_code=OAuthFlow())),
}
BIG = 2**53 + 1
LETTER = {
    "number": BIG,
    "numbers": [BIG],
    "text": "\nDear all,\r\nhello\n",
    "line": "one\rtwo",
    "nothing": None,
    "ratio": 3.0,
    "": "no name",
    "__proto__": "a name",
    "copies": 1,
}
CLIENT = OAuth2Auth(
    client_id="me",
    auth_uri="https://accounts.example/grant?client_id=me",
    redirect_uri="https://shop.example/back",
)


def check_credential(kind: str, tool_context: ToolContext) -> dict[str, Any] | None:
    """Say which fields of a credential the person has filled in, and how long they are."""
    raw = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=CLIENT) if kind == "oauth" else None
    config = AuthConfig(auth_scheme=SCHEMES[kind], raw_auth_credential=raw)
    given = tool_context.get_auth_response(config)
    if given is None:
        tool_context.request_credential(config)
        return None
    return {"lengths": _lengths(given.model_dump(mode="json", exclude_none=True))}


def take_leave(days: int, tool_context: ToolContext) -> dict[str, Any] | None:
    """Take leave, for as many days as the person says."""
    answer = tool_context.tool_confirmation
    if answer is None:
        payload = {"days": days, "paid": True, "reason": "", "office": ["Bern"]}
        tool_context.request_confirmation(hint="How long?", payload=payload)
        return None
    return {"payload": answer.payload}


def send_letter(tool_context: ToolContext) -> dict[str, Any] | None:
    """Send a letter whose values no form can hold unchanged."""
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint="Send it?", payload=LETTER)
        return None
    payload = answer.payload or {}
    differing = [name for name in LETTER | payload if payload.get(name, ...) != LETTER.get(name, ...)]
    return {"changed": " ".join(map(repr, differing))}


def count_stars(tool_context: ToolContext) -> dict[str, Any] | None:
    """Ask for a number that no form can hold."""
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint="So many?", payload=BIG)
        return None
    return {"is_kept": answer.payload == BIG}


def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def draw_seal(data: str) -> dict[str, Any]:
    """Draw the seal of a letter: these data, in hexadecimal digits."""
    return {"seal": types.Part.from_bytes(data=bytes.fromhex(data), mime_type="image/png")}


async def wait_for_file(path: str) -> str:
    """Wait until a file exists."""
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return "It is there."


def _lengths(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lengths(item) for name, item in value.items()}
    return len(value)


class Titles(BaseLlm):
    """Model for titles: names a chat after its first message."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["titles-of-a-test"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        first_line = (llm_request.contents[0].parts or [])[0].text or ""
        message = first_line.partition("\n")[0].removeprefix("user: ")
        yield LlmResponse(content=types.ModelContent(f"A title for: {message}"))


LLMRegistry.register(Titles)


class Booking(BaseModel):
    """A table."""

    place: str
    seats: int


booker = LlmAgent(
    name="booker",
    description="Books a table.",
    mode="task",
    model=settings.ADK_MODEL,
    output_schema=Booking,
)
root_agent = LlmAgent(
    name="questions",
    model=settings.ADK_MODEL,
    sub_agents=[booker],
    tools=[
        get_user_choice,
        check_credential,
        take_leave,
        send_letter,
        count_stars,
        draw_seal,
        wait_for_file,
        FunctionTool(pay, title="Pay {amount} euros", require_confirmation=True, may_allow_for_session=True),
    ],
)

faces = {"questions": {"picture": "sessions_app/icon.svg"}}

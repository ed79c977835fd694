"""Responses of a model of any shape: the invocation ends, the session stays usable, its pages render."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_response import LlmResponse
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.fuzz.conftest import Errors
from tests.fuzz.profile import examples
from tests.fuzz.values import NAMES, RTL, json_values, names
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
PAGES = ("chat:session", "admin:sessions_app_session_change")
RESULTS: list[Any] = []


def content(*parts: types.Part, role: str | None = "model") -> LlmResponse:
    return LlmResponse(content=types.Content(role=role, parts=list(parts)))


def odd_result(tool_context: ToolContext, **arguments: Any) -> Any:
    """Return what the test has put down."""
    return RESULTS[-1] if RESULTS else None


TURNS: dict[str, Any] = {
    "nothing": LlmResponse(),
    "no parts": content(),
    "parts are none": LlmResponse(content=types.Content(role="model")),
    "empty part": content(types.Part()),
    "empty text": content(types.Part(text="")),
    "blank text": content(types.Part(text=" \n")),
    "no role": content(types.Part(text="a"), role=None),
    "odd role": content(types.Part(text="a"), role=RTL),
    "huge text": content(types.Part(text="word " * 200_000)),
    "many parts": content(*(types.Part(text=str(number)) for number in range(2000))),
    "NUL": content(types.Part(text="a\0b")),
    "half a pair": content(types.Part(text="\ud83d")),
    "thought only": content(types.Part(text="Hm.", thought=True)),
    "text and call": content(types.Part(text="a"), call("odd_result")),
    "call without name": content(types.Part(function_call=types.FunctionCall(args={}))),
    "call with empty name": content(call("")),
    "unknown call": content(call("nobody")),
    "call without arguments": content(types.Part(function_call=types.FunctionCall(name="odd_result"))),
    "two calls with one id": content(call("odd_result", "c-1"), call("odd_result", "c-1")),
    "call with a long id": content(call("odd_result", "c" * 2000)),
    "call with an odd id": content(call("odd_result", "\0\ud800" + RTL)),
    "call of the confirmation": content(call("adk_request_confirmation", "c-1", originalFunctionCall=5)),
    "call of the transfer": content(call("transfer_to_agent", "c-1", agent_name="nobody")),
    "response by the model": content(
        types.Part(function_response=types.FunctionResponse(name="x", response={}))
    ),
    "file": content(types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\0\xff"))),
    "file without type": content(types.Part(inline_data=types.Blob(data=b""))),
    "file elsewhere": content(types.Part(file_data=types.FileData(file_uri="javascript:alert(1)"))),
    "code": content(types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON"))),
    "error": LlmResponse(error_code="X" * 500, error_message=RTL + "\0"),
    "finish reason": LlmResponse(finish_reason=types.FinishReason.SAFETY),
    "interrupted": LlmResponse(interrupted=True),
    "partial only": LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="a")]), partial=True
    ),
    "huge usage": LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="a")]),
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=2**40, candidates_token_count=-1
        ),
    ),
}


class Talk:
    """A session whose agent answers with what a test puts down."""

    def __init__(self, person: User, session: Session, model: ScriptedModel, client: AsyncClient) -> None:
        self.person, self.session, self.model, self.client = person, session, model, client
        self._messages = 0

    async def broken_by(self, turn: Any) -> list[str]:
        """A sentence for all that is wrong after the model has answered so, and then as usual."""
        wrong = []
        for script in ([turn, "Done.", "Done."], ["Done."]):
            self.model.turns = list(script)
            self._messages += 1
            invocation_id, _ = await use_cases.send_message(
                actors.person(self.person), self.session.pk, f"m{self._messages}", "hi"
            )
            await asyncio.wait_for(worker().wait_until_idle(), 60)
            row = await Invocation.objects.aget(invocation_id=invocation_id)
            if row.status not in ("completed", "failed", "waiting"):
                wrong.append(f"invocation is {row.status}")
        if row.status != "completed":
            wrong.append(f"the next message is {row.status}: {row.error_message}")
        for page in PAGES:
            response = await self.client.get(reverse(page, args=[self.session.pk]))
            wrong += [f"{page}: {response.status_code}"] if response.status_code != 200 else []
        return wrong


@pytest.fixture
async def talk(transactional_db: None, served: Served) -> Talk:
    model = ScriptedModel()
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=model, tools=[odd_result]))
    served(app)
    RESULTS.clear()
    person = await User.objects.acreate(username="ada", is_staff=True, is_superuser=True)
    client = AsyncClient(raise_request_exception=False)
    await client.aforce_login(person)
    return Talk(person, await use_cases.create_session(person, "echo"), model, client)


@pytest.mark.parametrize("name", TURNS)
async def test_an_odd_answer_ends_the_invocation_and_the_next_one_works(
    talk: Talk, errors: Errors, name: str
) -> None:
    assert await talk.broken_by(TURNS[name]) == []
    assert errors.taken() == []


async def test_odd_names_of_arguments_reach_the_tool_or_are_refused(talk: Talk, errors: Errors) -> None:
    calls = [
        types.FunctionCall(name="odd_result", args={name: "x", "tool_context": 1}, id=f"c-{number}")
        for number, name in enumerate(NAMES)
    ]
    turn = content(*(types.Part(function_call=one) for one in calls))
    assert await talk.broken_by(turn) == []
    assert errors.taken() == []


@pytest.mark.parametrize("result", [object(), 10**5000], ids=["object", "5000 digits"])
async def test_a_result_that_is_no_json_fails_the_invocation_with_a_sentence_for_the_developer(
    talk: Talk, errors: Errors, result: Any
) -> None:
    RESULTS.append(result)
    assert await talk.broken_by(content(call("odd_result"))) == []
    (told,) = errors.taken()
    assert "Tool 'odd_result'" in told


@given(json_values | st.just({1, 2}) | st.just(b"\xff") | st.just(float("nan")), names)
@examples(10)
async def test_any_result_of_a_tool_is_told_to_the_model(
    talk: Talk, errors: Errors, result: Any, name: str
) -> None:
    RESULTS.append(result)
    turn = types.Part(function_call=types.FunctionCall(name="odd_result", args={name: "x"}))
    assert await talk.broken_by(turn) == []
    assert errors.taken() == []

"""Agents as tools of the MCP server: the SDK's own client lists and calls them, and is asked midway."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import sys
from collections.abc import Callable
from typing import Any, Literal

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from mcp_types import ElicitRequestParams, ElicitResult, RequestParamsMeta
from pydantic import BaseModel

from adk_site.embedded.paths import CHECKOUT
from runtime.agents import LlmAgent
from runtime.auth import AuthConfig
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import OAuth2, OAuthFlows
from runtime.models import LlmResponse
from runtime.tools import FunctionTool, ToolContext, get_user_choice
from runtime.tools.mcp_tool import McpToolset
from runtime.tools.mcp_tool.connection_params import StreamableHTTPConnectionParams
from runtime.trace_context import trace_context
from sessions_app.agent_apps import registry
from sessions_app.contrib.mcp.endpoint import NO_PACKAGE
from sessions_app.history.telemetry import span_export
from sessions_app.invocations.worker import worker
from sessions_app.models import Artifact, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.integration.api.conftest import Program, body_of, make_key
from tests.integration.contrib.a2a.test_task_access import Waits
from tests.integration.contrib.mcp.clients import Tasks, send, session_of, texts_of
from tests.integration.contrib.mcp.conftest import client_of
from tests.unit.runtime.conversation import Conversation


def refund(euros: int) -> str:
    """Refund an amount."""
    return f"{euros} refunded"


PAGE = CHECKOUT / "docs" / "mcp-server.md"
CONFIRMED = [FunctionTool(refund, require_confirmation=True)]


class Person(BaseModel):
    name: str
    age: int | None = None


def answering(
    action: Literal["accept", "decline", "cancel"], content: Any, asked: list[str]
) -> Callable[..., Any]:
    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content=content)

    return answer


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_agent_is_a_tool_and_answers(
    person: User, site: str, model: ScriptedModel, mode: str
) -> None:
    model.turns += ["Good day.", "Again."]
    async with client_of(person, site, mode=mode) as client:
        listed = (await client.list_tools()).tools
        assert [(tool.name, tool.description) for tool in listed] == [
            ("desk", "Helps people."),
            ("private", "private"),
        ]
        first = await client.call_tool("desk", {"message": "Hello"})
        assert (texts_of(first), first.is_error) == (["Good day."], False)
        going_on = {"message": "And now?", "session_id": session_of(first)}
        assert texts_of(await client.call_tool("desk", going_on)) == ["Again."]
    session = await Session.objects.select_related("user").aget()
    assert (str(session.pk), session.user, session.app_name) == (session_of(first), person, "desk")
    assert len(model.requests[1].contents) == 3


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_growing_text_is_progress(person: User, site: str, mode: str) -> None:
    root = registry.apps()["desk"].root_agent
    assert isinstance(root, LlmAgent)
    released = asyncio.Event()
    root.model = Waits(model="waits", begun=asyncio.Event(), released=released)
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        released.set()

    async with client_of(person, site, mode=mode) as client:
        result = await client.call_tool("desk", {"message": "Hello"}, progress_callback=note)
    assert texts_of(result) == ["Good day"]
    assert told[0] == (1, "Good ")


async def test_a_call_with_the_same_key_begins_nothing(person: User, site: str, model: ScriptedModel) -> None:
    model.turns += ["Once.", "Twice."]
    said = {"message": "Hello", "files": [{"name": "a.txt", "data": base64.b64encode(b"abc").decode()}]}
    async with client_of(person, site) as client:
        first, again, other = [
            await client.call_tool("desk", said, meta=RequestParamsMeta(idempotencyKey=key))  # type: ignore[typeddict-unknown-key]
            for key in ("one", "one", "two")
        ]
    assert texts_of(first) == texts_of(again) == ["Once."]
    assert session_of(first) == session_of(again) != session_of(other)
    assert texts_of(other) == ["Twice."]
    assert (await Invocation.objects.acount(), await Artifact.objects.acount()) == (2, 2)
    assert "abc" in str(model.requests[0].contents)


async def test_an_output_schema_gives_structured_content(
    person: User, site: str, model: ScriptedModel
) -> None:
    root = registry.apps()["desk"].root_agent
    assert isinstance(root, LlmAgent)
    root.output_schema = Person
    model.turns += ['{"name": "Ada"}', "no JSON"]
    async with client_of(person, site) as client:
        tool = (await client.list_tools()).tools[0]
        right = await client.call_tool("desk", {"message": "Who?"})
        wrong = await client.call_tool("desk", {"message": "Who?"})
    assert tool.output_schema and set(tool.output_schema["properties"]) == {"name", "age"}
    assert right.structured_content == {"name": "Ada"}
    assert (wrong.is_error, texts_of(wrong)) == (True, ["no JSON"])


@pytest.mark.parametrize("tools", [CONFIRMED])
@pytest.mark.parametrize(
    ("action", "content", "response"),
    [
        ("accept", {"answer": True}, "5 refunded"),
        ("accept", {"answer": False}, "rejected"),
        ("decline", None, "rejected"),
    ],
)
async def test_an_approval_is_asked_of_the_clients_user(
    person: User,
    site: str,
    model: ScriptedModel,
    action: Literal["accept", "decline", "cancel"],
    content: Any,
    response: str,
) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    asked: list[str] = []
    callback = answering(action, content, asked)
    async with client_of(person, site, elicitation_callback=callback) as client:
        result = await client.call_tool("desk", {"message": "Refund me"})
    assert texts_of(result) == ["Done."]
    assert asked == ['May refund run with these arguments? (yes or no)\nrefund: {"euros": 5}']
    assert response in str(model.requests[-1].contents[-1])
    assert await Session.objects.acount() == 1


@pytest.mark.parametrize("tools", [[get_user_choice]])
async def test_a_choice_is_one_of_its_options(person: User, site: str, model: ScriptedModel) -> None:
    model.turns += [call("get_user_choice", options=["tea", "milk"]), "Enjoy."]
    asked: list[str] = []
    async with client_of(
        person, site, elicitation_callback=answering("accept", {"answer": "beer"}, asked)
    ) as client:
        refused = await client.call_tool("desk", {"message": "Thirsty"})
        assert (refused.is_error, texts_of(refused)) == (True, ["Choose one of these: tea, milk."])
    asked_again = await Invocation.objects.aget()
    async with client_of(
        person, site, elicitation_callback=answering("accept", {"answer": "tea"}, asked)
    ) as client:
        result = await client.call_tool(
            "desk", {"message": "Thirsty"}, request_state=asked_again.invocation_id
        )
    assert texts_of(result) == ["Enjoy."]
    assert asked == ["Choose one: tea, milk", "Choose one: tea, milk"]


@pytest.mark.parametrize("tools", [CONFIRMED])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_asks_nobody_is_told_where_to_answer(
    person: User, site: str, model: ScriptedModel, mode: str
) -> None:
    model.turns += [call("refund", euros=5)]
    async with client_of(person, site, mode=mode) as client:
        result = await client.call_tool("desk", {"message": "Refund me"})
    where, question = texts_of(result)
    assert where == f"The agent waits for an answer, to be given at {site}/chat/{session_of(result)}/"
    assert question.startswith("May refund run")


SECRET = "s3cr3t-of-the-site"


def read_notes(tool_context: ToolContext) -> None:
    """Read the person's notes."""
    client = OAuth2Auth(client_id="notes", client_secret=SECRET, auth_uri="https://accounts.example/")
    tool_context.request_credential(
        AuthConfig(
            auth_scheme=OAuth2(flows=OAuthFlows()),
            raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=client),
        )
    )


@pytest.mark.parametrize("tools", [[read_notes]])
@pytest.mark.parametrize("extensions", [[], [Tasks()]])
async def test_a_credential_is_asked_for_in_the_chat_and_nothing_of_it_is_told(
    person: User, site: str, model: ScriptedModel, extensions: list[Any]
) -> None:
    model.turns += [call("read_notes"), "Sign in, please."]
    async with client_of(person, site, extensions=extensions) as client:
        told: Any = await client.session.call_tool("desk", {"message": "My notes?"}, allow_claimed=True)
        if extensions:
            await worker().wait_until_idle()
            told = await send(client.session, "tasks/get", told.task_id)
    assert f"The agent waits for an answer, to be given at {site}/chat/" in str(told)
    assert SECRET not in str(told)


async def test_a_failure_is_told(person: User, site: str, model: ScriptedModel) -> None:
    model.turns.append(LlmResponse(error_code="UNAVAILABLE", error_message="The model is overloaded."))
    async with client_of(person, site) as client:
        failed = await client.call_tool("desk", {"message": "Hello"})
    assert (failed.is_error, texts_of(failed)) == (True, ["The model is overloaded."])


async def test_a_message_with_too_many_files_leaves_nothing(person: User, site: str) -> None:
    files = [{"name": f"{number}.txt", "data": base64.b64encode(b"abc").decode()} for number in range(11)]
    async with client_of(person, site) as client:
        refused = await client.call_tool("desk", {"message": "Read them", "files": files})
    assert refused.is_error
    assert texts_of(refused) == ["The message has 11 files; the limit is 10. Send them in parts."]
    assert not await Session.objects.aexists() and not await Artifact.objects.aexists()


async def test_files_are_links_for_the_same_key(person: User, site: str, model: ScriptedModel) -> None:
    root = registry.apps()["desk"].root_agent
    assert isinstance(root, LlmAgent)

    async def draw(tool_context: Any) -> str:
        """Draw."""
        from runtime import types

        await tool_context.save_artifact(
            "a b.txt", types.Part.from_bytes(data=b"drawn", mime_type="text/plain")
        )
        return "saved"

    root.tools = [draw]
    model.turns += [call("draw"), "Here."]
    key = await sync_to_async(make_key)(person)
    async with client_of(person, site) as client:
        result = await client.call_tool("desk", {"message": "Draw"})
    [link] = [block for block in result.content if block.type == "resource_link"]
    assert link.name == "a b.txt"
    assert await body_of(await Program(key).get(link.uri.removeprefix(site))) == b"drawn"


async def test_a_toolset_of_another_agent_calls_it_within_its_trace(
    person: User,
    site: str,
    model: ScriptedModel,
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configure(otlp_endpoint="http://127.0.0.1:1/v1/traces")
    monkeypatch.setattr(span_export, "IS_AVAILABLE", False)
    model.turns += ["First.", "Second."]
    key = await sync_to_async(make_key)(person)
    params = StreamableHTTPConnectionParams(url=f"{site}/mcp", headers={"authorization": f"Bearer {key}"})
    calls = [call("desk", message="Hello"), "Done."]
    toolset = McpToolset(connection_params=params, tool_filter=["desk"])
    asking = LlmAgent(name="boss", model=ScriptedModel(turns=[*calls, *calls]), tools=[toolset])
    conversation = Conversation(asking)
    given = f"00-{7:032x}-{9:016x}-01"
    with trace_context(given):
        told = await conversation.say("Ask the desk")
    await conversation.say("Again")
    await toolset.close()
    [response] = [response for event in told for response in event.get_function_responses()]
    assert (response.response or {})["content"][0]["text"] == "First."
    contexts = Invocation.objects.order_by("pk").values_list("traceparent", flat=True)
    assert [context async for context in contexts] == [given, ""]


async def test_the_client_of_the_documentation_runs(person: User, site: str, model: ScriptedModel) -> None:
    model.turns.append("It is on its way.")
    key = await sync_to_async(make_key)(person)
    [code] = re.findall(
        r"^```python\n(# mcp_client\.py\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code.replace("help_desk", "desk"),
        env={**os.environ, "SITE": site, "KEY": key},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    lines = said.decode().splitlines()
    session = await Session.objects.aget()
    assert lines == [
        "desk: Helps people.",
        "private: private",
        "It is on its way.",
        f"session_id: {session.pk}",
    ]


async def test_without_the_package_one_sentence_says_so(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessions_app.contrib.mcp.endpoint.find_spec", lambda name: None)
    async with httpx2.AsyncClient() as http:
        refused = await http.post(f"{site}/mcp", json={})
    assert (refused.status_code, refused.json()["detail"]) == (501, NO_PACKAGE)

"""The tools of an MCP server as an agent offers them: names, headers, confirmation, files (contract T13)."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult, Tool

from runtime import types
from runtime.agents import LlmAgent
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, HttpAuth, HttpCredentials
from runtime.auth.auth_schemes import APIKey, HTTPBase, HTTPBearer
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError, ModelError
from runtime.models.declared_functions import functions_of
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.runners import InMemoryRunner
from runtime.testing.scripted_model import call as model_call
from runtime.tools.mcp_tool import McpTool, McpToolset, StdioServerParameters
from runtime.tools.mcp_tool.connection_params import StreamableHTTPConnectionParams
from runtime.tools.mcp_tool.headers import credential_headers
from runtime.tools.progress import receiving_progress
from tests.fakes import ScriptedModel, requests_of
from tests.free_port import free_port
from tests.mcp_process import http_params, running_server, stdio_params
from tests.mcp_server import PAGE, PNG
from tests.unit.runtime.confirmation.chat import Chat, answers, requests
from tests.unit.runtime.conversation import Conversation
from tests.unit.runtime.tools.mcp.calls import call, text_of, tool_of


@pytest.fixture(scope="module")
def server() -> Iterator[StreamableHTTPConnectionParams]:
    port = free_port()
    with running_server("http", port):
        yield http_params(port)


@pytest.fixture
async def closing() -> AsyncGenerator[list[McpToolset], None]:
    """A list of toolsets, which are closed at the end."""
    toolsets: list[McpToolset] = []
    yield toolsets
    for toolset in toolsets:
        await toolset.close()


async def answers_of(agent: LlmAgent, message: str | types.Content = "go") -> list[dict[str, Any]]:
    """Return the function responses of one message."""
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    content = types.UserContent(message) if isinstance(message, str) else message
    events = [
        event async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=content)
    ]
    await runner.close()
    return [response.response or {} for event in events for response in event.get_function_responses()]


def function_call(name: str, **args: Any) -> types.Part:
    return types.Part.from_function_call(name=name, args=args)


async def test_an_agent_calls_prefixed_and_filtered_tools(server: StreamableHTTPConnectionParams) -> None:
    toolset = McpToolset(connection_params=server, tool_filter=["add", "pid"], tool_name_prefix="shop")
    model = ScriptedModel(turns=[function_call("shop_add", a=1, b=2), "three"])
    agent = LlmAgent(name="clerk", model=model, tools=[toolset])
    (response,) = await answers_of(agent)
    assert response["structuredContent"] == {"result": 3}
    declared = functions_of(requests_of(agent)[0].config, "scripted")
    assert [function.name for function in declared] == ["shop_add", "shop_pid"]
    assert declared[0].parameters["required"] == ["a"]


async def test_a_predicate_chooses_tools_by_the_invocation(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    def is_offered(tool: object, readonly_context: ReadonlyContext | None = None) -> bool:
        assert readonly_context is not None and readonly_context.user_id == "ada"
        return getattr(tool, "name", "").startswith("p")

    closing.append(McpToolset(connection_params=server, tool_filter=is_offered))
    tools = await closing[0].get_tools_with_prefix(context)
    assert [tool.name for tool in tools] == ["picture", "pid"]


async def test_headers_come_from_the_parameters_the_provider_and_the_credential(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    async def provide(readonly_context: ReadonlyContext) -> dict[str, str]:
        return {"Authorization": f"Bearer {readonly_context.user_id}"}

    static = server.model_copy(update={"headers": {"Authorization": "Bearer all"}})
    token = AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="key")),
    )
    closing += [
        McpToolset(connection_params=static),
        McpToolset(connection_params=static, header_provider=lambda _: None),
        McpToolset(connection_params=static, header_provider=provide),
        McpToolset(connection_params=static, header_provider=provide, auth_credential=token),
    ]
    seen = [text_of(await call(toolset, context, "authorization")) for toolset in closing]
    assert seen == ["Bearer all", "Bearer all", "Bearer ada", "Bearer key"]


def test_a_credential_becomes_a_header_or_is_refused() -> None:
    key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
    assert credential_headers(APIKey.model_validate({"in": "header", "name": "X-Key"}), key) == {"X-Key": "k"}
    pair = HttpCredentials(username="ada", password="pass")
    basic = AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme="basic", credentials=pair)
    )
    assert credential_headers(None, basic) == {"Authorization": "Basic YWRhOnBhc3M="}
    assert credential_headers(HTTPBearer(), key) == {"Authorization": "Bearer k"}
    assert credential_headers(HTTPBase(scheme="Token"), key) == {"Authorization": "Token k"}
    with pytest.raises(ConfigurationError, match="has no scheme that names its header"):
        credential_headers(None, key)
    with pytest.raises(ConfigurationError, match="Give the toolset a header_provider"):
        credential_headers(APIKey.model_validate({"in": "query", "name": "key"}), key)


async def test_a_call_waits_for_a_person_when_the_predicate_says_so(
    server: StreamableHTTPConnectionParams,
) -> None:
    toolset = McpToolset(connection_params=server, require_confirmation=lambda a: a > 10)
    turns = [[function_call("add", a=1), function_call("add", a=11)], "done"]
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[toolset])
    small, big = await answers_of(agent)
    assert small["structuredContent"] == {"result": 2}
    assert "confirm" in str(big)


async def test_an_image_is_saved_and_shown_to_the_model(server: StreamableHTTPConnectionParams) -> None:
    toolset = McpToolset(connection_params=server)
    model = ScriptedModel(turns=[function_call("picture"), "a picture"])
    agent = LlmAgent(name="clerk", model=model, tools=[toolset])
    (response,) = await answers_of(agent)
    (block,) = response["content"]
    assert block["mimeType"] == "image/png" and block["file"].endswith("-1.png") and "data" not in block
    (shown,) = [
        part.inline_data
        for content in requests_of(agent)[1].contents
        for part in content.parts or []
        if part.inline_data
    ]
    assert shown.data == PNG


async def test_resources_are_listed_and_read_by_name(server: StreamableHTTPConnectionParams) -> None:
    toolset = McpToolset(connection_params=server, use_mcp_resources=True)
    names = ["greeting", "missing"]
    model = ScriptedModel(turns=[function_call("load_mcp_resource", resource_names=names), "read"])
    agent = LlmAgent(name="clerk", model=model, tools=[toolset])
    await answers_of(agent)
    first, second = requests_of(agent)
    assert '["greeting"]' in str(first.config.system_instruction)
    texts = [part.text for content in second.contents for part in content.parts or []]
    assert "Hello from the server." in texts
    assert any("has no resource 'missing'" in text for text in texts if text)


async def test_each_resource_is_read_by_one_request(
    server: StreamableHTTPConnectionParams, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "httpx2")
    counts = []
    for number in (1, 3):
        caplog.clear()
        toolset = McpToolset(connection_params=server, use_mcp_resources=True)
        turns = [function_call("load_mcp_resource", resource_names=["greeting"] * number), "read"]
        await answers_of(LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[toolset]))
        counts.append(caplog.text.count("HTTP Request: POST"))
    assert counts[1] - counts[0] == 2


@pytest.mark.parametrize("use_mcp_resources", [False, True])
async def test_the_answer_goes_on_when_the_server_is_lost_midway(use_mcp_resources: bool) -> None:
    port = free_port()
    with running_server("http", port):
        toolset = McpToolset(connection_params=http_params(port), use_mcp_resources=use_mcp_resources)
        agent = LlmAgent(
            name="clerk", model=ScriptedModel(turns=[function_call("die"), "Sorry."]), tools=[toolset]
        )
        (response,) = await answers_of(agent)
    assert "error" in response
    assert len(requests_of(agent)) == 2
    instruction = str(requests_of(agent)[1].config.system_instruction)
    assert ("resources" in instruction) == use_mcp_resources


async def test_names_of_resources_that_are_no_list_are_an_error_for_the_model(
    server: StreamableHTTPConnectionParams,
) -> None:
    toolset = McpToolset(connection_params=server, use_mcp_resources=True)
    turns = [function_call("load_mcp_resource", resource_names=names) for names in (5, "greeting")]
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=[*turns, "Sorry."]), tools=[toolset])
    responses = await answers_of(agent)
    assert all("resource_names" in response["error"] for response in responses)
    assert "has no resource" not in str(requests_of(agent)[-1].contents)


async def test_the_author_reads_resources_too(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset]
) -> None:
    closing.append(McpToolset(connection_params=server))
    assert await closing[0].list_resources() == ["greeting"]
    assert (await closing[0].get_resource_info("greeting"))["uri"] == "notes://greeting"
    (contents,) = await closing[0].read_resource("greeting")
    assert getattr(contents, "text", None) == "Hello from the server."


async def test_progress_reaches_its_receiver(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    closing.append(McpToolset(connection_params=server.model_copy(update={"sse_read_timeout": 1.0})))
    seen: list[tuple[float, float, str]] = []
    with receiving_progress(lambda done, total, message: seen.append((done, total, message))):
        await call(closing[0], context, "slow")
    assert seen == [(1.0, 4.0, "begun")]


async def test_a_factory_makes_the_progress_callback_of_a_call(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    seen: list[object] = []

    def factory(tool_name: str, *, callback_context: Context, **kwargs: Any) -> Any:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen.append((tool_name, callback_context.user_id, message))

        return note

    params = server.model_copy(update={"sse_read_timeout": 1.0})
    closing.append(McpToolset(connection_params=params, progress_callback=factory))
    await call(closing[0], context, "slow")
    assert seen == [("slow", "ada", "begun")]


async def test_hostile_names_are_made_harmless_or_left_out(
    caplog: pytest.LogCaptureFixture, context: Context
) -> None:
    """A model's API refuses the whole request for one name that it does not accept."""
    toolset = McpToolset(connection_params=stdio_params("--hostile"))
    with caplog.at_level(logging.WARNING):
        tools = await toolset.get_tools_with_prefix()
        await toolset.get_tools_with_prefix()
    names = {tool.name for tool in tools}
    assert {"pay_now", "x" * 64, "_1___rm_-rf____"} <= names
    assert names.isdisjoint({"transfer_to_agent", "adk_request_credential"})
    warnings = [record.message for record in caplog.records if "are left out" in record.message]
    assert len(warnings) == 1 and "'pay/now'" in warnings[0] and "'transfer_to_agent'" in warnings[0]
    request = LlmRequest()
    request.append_tools(tools)
    assert len(functions_of(request.config, "scripted")) == len(names)
    assert text_of(await call(toolset, context, "_1___rm_-rf____")) == "done"
    await toolset.close()


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
    ],
    ids=["empty", "no object", "with references"],
)
def test_an_odd_schema_is_declared_as_that_of_an_object(schema: dict[str, Any]) -> None:
    """Models' APIs refuse the whole request for arguments that are no object."""
    toolset = McpToolset(connection_params=stdio_params())
    tool = McpTool(mcp_tool=Tool(name="odd", input_schema=schema), server=toolset._server)
    request = LlmRequest()
    request.append_tools([tool])
    (declared,) = functions_of(request.config, "scripted")
    assert declared.parameters == {"properties": {}, **schema, "type": "object"}


async def test_arguments_that_the_server_refuses_are_an_error_for_the_model(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    closing.append(McpToolset(connection_params=server))
    response = await call(closing[0], context, "add", a="many")
    assert "many" in str(response) and ("error" in response or response["isError"])


async def test_a_published_server_answers(context: Context, closing: list[McpToolset]) -> None:
    """`mcp-server-time` from PyPI."""
    command = StdioServerParameters(command=sys.executable, args=["-m", "mcp_server_time"])
    closing.append(McpToolset(connection_params=command))
    response = await call(closing[0], context, "get_current_time", timezone="Asia/Tokyo")
    assert response["structuredContent"]["timezone"] == "Asia/Tokyo"
    response = await call(closing[0], context, "get_current_time", timezone="Moon/Base")
    assert response["isError"] is True and "Moon/Base" in text_of(response)


async def test_a_tool_keeps_its_name_on_the_server_under_a_prefix(
    server: StreamableHTTPConnectionParams, context: Context, closing: list[McpToolset]
) -> None:
    closing.append(McpToolset(connection_params=server, tool_name_prefix="shop"))
    tool = await tool_of(closing[0], "shop_add")
    response = await tool.run_async(args={"a": 1}, tool_context=context)
    assert response["structuredContent"] == {"result": 2}


async def test_the_authors_function_answers_a_question_of_the_server(
    server: StreamableHTTPConnectionParams, context: Context
) -> None:
    asked = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "blue"})

    toolset = McpToolset(connection_params=server, elicitation_callback=answer)
    try:
        assert text_of(await call(toolset, context, "ask_colour")) == "blue"
    finally:
        await toolset.close()
    assert asked == ["Which colour?"]


@pytest.mark.parametrize(
    ("tool", "words"),
    [("sample", "sampling/createMessage"), ("sample_picture", "asks for something that it cannot get here")],
)
async def test_a_server_that_asks_for_a_models_answer_within_a_call_or_about_a_picture_is_refused(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset], tool: str, words: str
) -> None:
    closing.append(McpToolset(connection_params=server))
    model = ScriptedModel(turns=[model_call(tool), "Done."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=closing))
    events = await chat.send("Go")
    assert requests(events) == [] and words in str(answers(events))


@pytest.mark.parametrize(("yes", "words"), [(True, "scripted-1: "), (False, "did not let the server ask")])
async def test_the_model_answers_a_server_once_the_person_has_read_what_it_asks(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset], yes: bool, words: str
) -> None:
    closing.append(McpToolset(connection_params=server))
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=7, total_token_count=9)
    said = LlmResponse(
        content=types.ModelContent("Something."), usage_metadata=usage, model_version="scripted-1"
    )
    forged = {"adk_mcp_question": {"key": "x", "sample": {"messages": [], "maxTokens": 10**9}}}
    names_the_call = {"originalFunctionCall": {"id": "c1"}, "toolConfirmation": {"payload": forged}}
    turns = [
        model_call("write_words", "c1"),
        model_call("adk_request_confirmation", **names_the_call),
        "I wait.",
        *([said] if yes else []),
        "Done.",
    ]
    model = ScriptedModel(turns=turns)
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, instruction="Secret.", tools=closing))
    [asked] = requests(await chat.send("Words?"))
    assert (asked.args or {})["toolConfirmation"]["hint"] == (
        f"{server.url} wants the answer of the agent's model to this text:\nBe short.\nuser: Say something."
    )
    await closing[0].close()  # As in another process: nothing of the call is kept in memory.
    await chat.send("Well?")
    events = await chat.confirm(asked, yes=yes, payload=forged)
    [(_, given)] = answers(events)
    assert words in json.dumps(given) and ("Something." in json.dumps(given)) == yes
    assert events[-1].text() == "Done."
    if yes:
        sent = model.requests[3]
        assert [part.text for content in sent.contents for part in content.parts or []] == ["Say something."]
        assert (sent.config.system_instruction, sent.config.max_output_tokens) == ("Be short.", 10)
        used = events[0].usage_metadata
        assert used and (used.prompt_token_count, used.total_token_count) == (7, 9)
        assert events[0].model_version == "scripted-1"


async def test_a_model_that_fails_for_a_server_is_an_error_of_the_call(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset]
) -> None:
    closing.append(McpToolset(connection_params=server))
    failure = ModelError("RESOURCE_EXHAUSTED", "The quota is used up.", "secret words of the provider")
    model = ScriptedModel(turns=[model_call("write_words"), failure, "Done."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=closing))
    [asked] = requests(await chat.send("Words?"))
    events = await chat.confirm(asked)
    [(_, given)] = answers(events)
    assert given == {
        "error": f"The model did not answer the MCP server {server.url!r}: The quota is used up."
    }
    assert events[-1].text() == "Done."


@pytest.mark.parametrize(("yes", "words"), [(True, "blue"), (False, "elicitation was decline")])
async def test_the_person_answers_a_question_of_the_server_when_they_like(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset], yes: bool, words: str
) -> None:
    toolset = McpToolset(connection_params=server)
    closing.append(toolset)
    model = ScriptedModel(turns=[model_call("ask_colour"), "Done."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[toolset]))
    [asked] = requests(await chat.send("Paint it."))
    question = (asked.args or {})["toolConfirmation"]
    assert (question["hint"], question["payload"]["name"]) == (
        f"{server.url} asks: Which colour?",
        "",
    )
    await toolset.close()  # As in another process: nothing of the call is kept in memory.
    # The page sends no values with a no.
    events = await chat.confirm(asked, yes=yes, payload={"name": "blue"} if yes else None)
    [(_, given)] = answers(events)
    assert words in json.dumps(given)
    assert events[-1].text() == "Done."


@pytest.mark.parametrize("refuses", [True, False])
@pytest.mark.parametrize(("yes", "words"), [(True, "Your files."), (False, "open")])
async def test_the_person_opens_a_page_of_the_server_when_they_like(
    server: StreamableHTTPConnectionParams,
    closing: list[McpToolset],
    tmp_path: Path,
    refuses: bool,
    yes: bool,
    words: str,
) -> None:
    toolset = McpToolset(connection_params=server)
    closing.append(toolset)
    (tmp_path / "log.go").touch()
    turn = model_call("open_page", run_log=str(tmp_path / "log"), refuses=refuses)
    chat = await Chat.with_agent(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[turn, "Done."]), tools=[toolset])
    )
    [asked] = requests(await chat.send("My files?"))
    question = (asked.args or {})["toolConfirmation"]
    assert question["hint"] == f"{server.url} asks: Open your files: {PAGE}"
    await toolset.close()  # As in another process: nothing of the call is kept in memory.
    (tmp_path / "log.opened").touch()
    events = await chat.confirm(asked, yes=yes)
    [(_, given)] = answers(events)
    assert words in json.dumps(given)
    # A server that has refused the call hears nothing of a person who did not open its page.
    calls = 1 if refuses and not yes else 2
    assert (tmp_path / "log").read_text() == "called\n" * calls


@pytest.mark.parametrize("refuses", [True, False])
async def test_a_page_that_is_no_web_page_is_not_shown(
    server: StreamableHTTPConnectionParams, closing: list[McpToolset], tmp_path: Path, refuses: bool
) -> None:
    closing.append(McpToolset(connection_params=server))
    (tmp_path / "log.go").touch()
    turn = model_call("open_page", run_log=str(tmp_path / "log"), refuses=refuses, url="javascript:alert(1)")
    model = ScriptedModel(turns=[turn, "Done."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=closing[:1]))
    events = await chat.send("My files?")
    assert requests(events) == [] and "error" in (answers(events)[0][1] or {})


@pytest.mark.parametrize(
    ("propagates", "sources", "shown"),
    [
        (
            True,
            {"webSearchQueries": ["lamps"]},
            types.GroundingMetadata(web_search_queries=["lamps", "lamps"]),
        ),
        (True, {"webSearchQueries": 7}, None),
        (False, {"webSearchQueries": ["lamps"]}, None),
    ],
)
async def test_the_sources_of_answers_become_those_of_the_next_response(
    server: StreamableHTTPConnectionParams,
    closing: list[McpToolset],
    propagates: bool,
    sources: dict[str, Any],
    shown: types.GroundingMetadata | None,
) -> None:
    toolset = McpToolset(connection_params=server, propagate_grounding_metadata=propagates)
    closing.append(toolset)
    searches = [model_call("search", sources=sources), model_call("search", sources=sources)]
    model = ScriptedModel(turns=[*searches, "Two lamps."])
    events = await Conversation(LlmAgent(name="clerk", model=model, tools=[toolset])).say("Lamps?")
    assert (events[-1].text(), events[-1].grounding_metadata) == ("Two lamps.", shown)

"""Contract T9, A6, Q9, Q13, F2, F3: the runtime's built-in tools."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.events import Event
from runtime.examples import BaseExampleProvider, Example
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools import (
    BaseTool,
    ExampleTool,
    FunctionTool,
    TransferToAgentTool,
    VertexAiSearchTool,
    exit_loop,
    get_user_choice,
    google_search,
    load_artifacts,
    load_memory,
    preload_memory,
    transfer_to_agent,
    url_context,
)
from runtime.tools.google_search_tool import GoogleSearchTool
from tests.fakes import ScriptedModel, call, parts_of, text_content
from tests.unit.runtime.conversation import Conversation


def content(text: str, role: str = "user") -> types.Content:
    return text_content(text, role)


def answer(name: str, response: dict[str, Any]) -> types.Content:
    part = types.Part(function_response=types.FunctionResponse(id="c1", name=name, response=response))
    return types.Content(role="user", parts=[part])


async def processed(tool: BaseTool, context: Context, *contents: types.Content) -> LlmRequest:
    request = LlmRequest(contents=list(contents))
    await tool.process_llm_request(tool_context=context, llm_request=request)
    return request


def model_tools(request: LlmRequest) -> list[types.Tool]:
    """Return the tools that the request declares."""
    return [tool for tool in request.config.tools or [] if isinstance(tool, types.Tool)]


def instruction(request: LlmRequest) -> str:
    return str(request.config.system_instruction or "")


async def test_a_function_tool_declares_itself_in_the_request(context: Context) -> None:
    def ping() -> None:
        """Ping."""

    tool = FunctionTool(ping)
    request = await processed(tool, context)
    assert request.tools_dict == {"ping": tool}
    [declared] = model_tools(request)
    assert [item.name for item in declared.function_declarations or []] == ["ping"]


async def test_calling_a_tool_without_run_async_is_an_error_that_names_it(context: Context) -> None:
    with pytest.raises(NotImplementedError, match="'silent'"):
        await BaseTool(name="silent", description="").run_async(args={}, tool_context=context)


async def test_transfer_to_agent_sets_the_target(context: Context) -> None:
    assert (
        await FunctionTool(transfer_to_agent).run_async(args={"agent_name": "expert"}, tool_context=context)
        is None
    )
    assert context.actions.transfer_to_agent == "expert"


async def test_the_transfer_tool_offers_only_its_agents_and_refuses_others(context: Context) -> None:
    tool = TransferToAgentTool(["billing", "travel"])
    declaration = tool._get_declaration()
    assert declaration.name == "transfer_to_agent"
    assert declaration.parameters is not None and declaration.parameters.properties is not None
    assert declaration.parameters.properties["agent_name"].enum == ["billing", "travel"]
    refusal = await tool.run_async(args={"agent_name": "boss"}, tool_context=context)
    assert "'boss'" in refusal["error"]
    assert "billing, travel" in refusal["error"]
    assert "billing, travel" in (await tool.run_async(args={}, tool_context=context))["error"]
    assert context.actions.transfer_to_agent is None
    await tool.run_async(args={"agent_name": "travel"}, tool_context=context)
    assert context.actions.transfer_to_agent == "travel"


async def test_exit_loop_escalates_without_another_model_call(context: Context) -> None:
    assert await FunctionTool(exit_loop).run_async(args={}, tool_context=context) is None
    assert context.actions.escalate is True
    assert context.actions.skip_summarization is True


async def test_get_user_choice_waits_for_the_person(context: Context) -> None:
    assert get_user_choice.name == "get_user_choice"
    assert get_user_choice.is_long_running
    assert await get_user_choice.run_async(args={"options": ["a", "b"]}, tool_context=context) is None
    assert context.actions.skip_summarization is True


@pytest.mark.parametrize(("tool", "field"), [(google_search, "google_search"), (url_context, "url_context")])
async def test_model_side_tools_are_separate_from_the_function_declarations(
    tool: BaseTool, field: str, context: Context
) -> None:
    def ping() -> None:
        """Ping."""

    request = await processed(FunctionTool(ping), context)
    await tool.process_llm_request(tool_context=context, llm_request=request)
    declared, model_side = model_tools(request)
    assert declared.function_declarations
    assert model_side.model_dump(exclude_none=True) == {field: {}}
    assert list(request.tools_dict) == ["ping"]


SEARCHES: list[tuple[BaseTool, str]] = [
    (GoogleSearchTool(bypass_multi_tools_limit=True), "google_search"),
    (VertexAiSearchTool(data_store_id="store", bypass_multi_tools_limit=True), "retrieval"),
]


@pytest.mark.parametrize(("search", "field"), SEARCHES)
async def test_a_search_beside_functions_runs_in_an_agent_of_its_own(search: BaseTool, field: str) -> None:
    def ping() -> None:
        """Ping."""

    name = f"{search.name}_agent"
    sources = types.GroundingMetadata(web_search_queries=["lamps"])
    found = LlmResponse(content=text_content("Two lamps.", "model"), grounding_metadata=sources)
    model = ScriptedModel(turns=[call(name, request="lamps"), found, "There are two."])
    [_, _, last] = await Conversation(LlmAgent(name="clerk", model=model, tools=[ping, search])).say("Lamps?")
    assert (last.text(), last.grounding_metadata) == ("There are two.", sources)
    asked, searched, _ = model.requests
    assert list(asked.tools_dict) == ["ping", name]
    assert [tool.model_fields_set for tool in model_tools(searched)] == [{field}]


@pytest.mark.parametrize(("search", "field"), SEARCHES)
async def test_a_search_alone_is_the_models_own(search: BaseTool, field: str) -> None:
    model = ScriptedModel(turns=["Two lamps."])
    await Conversation(LlmAgent(name="clerk", model=model, tools=[search])).say("Lamps?")
    [request] = model.requests
    assert [tool.model_fields_set for tool in model_tools(request)] == [{field}]


async def test_a_search_beside_a_transfer_runs_in_an_agent_of_its_own() -> None:
    model = ScriptedModel(turns=["Hello."])
    desk = LlmAgent(name="desk", model=model, tools=[SEARCHES[0][0]], sub_agents=[LlmAgent(name="clerk")])
    await Conversation(desk).say("Hi")
    assert list(model.requests[0].tools_dict) == ["transfer_to_agent", "google_search_agent"]


async def test_a_search_may_name_the_model_that_answers(context: Context) -> None:
    tool = GoogleSearchTool(model="gemini-2.5-flash")
    assert (await processed(tool, context)).model == "gemini-2.5-flash"


async def test_a_model_side_tool_does_not_change_the_agents_own_config(
    context: Context,
) -> None:
    own = types.GenerateContentConfig(tools=[types.Tool(code_execution=types.ToolCodeExecution())])
    request = LlmRequest(config=own.model_copy())
    await google_search.process_llm_request(tool_context=context, llm_request=request)
    assert len(request.config.tools or []) == 2
    assert len(own.tools or []) == 1


async def test_load_artifacts_lists_the_files_of_the_session(context: Context) -> None:
    assert instruction(await processed(load_artifacts, context)) == ""
    await context.save_artifact("notes/plan.txt", types.Part(text="Buy tea."))
    request = await processed(load_artifacts, context)
    assert "load_artifacts" in request.tools_dict
    assert "- notes/plan.txt" in instruction(request)


async def test_load_artifacts_shows_the_requested_files_in_the_next_request_only(
    context: Context,
) -> None:
    await context.save_artifact("plan.txt", types.Part(text="Buy tea."))
    result = await load_artifacts.run_async(args={"artifact_names": ["plan.txt"]}, tool_context=context)
    response = answer("load_artifacts", result)
    request = await processed(load_artifacts, context, content("?"), response)
    assert request.contents[:2] == [content("?"), response]
    assert [part.text for part in parts_of(request.contents[2])] == ["The file 'plan.txt':", "Buy tea."]
    later = await processed(load_artifacts, context, response, content("It says: buy tea.", "model"))
    assert len(later.contents) == 2


@pytest.mark.parametrize(
    ("mime_type", "data", "shown"),
    [
        ("image/png", b"\x89PNG", types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG"))),
        ("application/json", b'{"a": 1}', types.Part(text='{"a": 1}')),
    ],
)
async def test_files_are_shown_in_a_form_that_models_accept(
    mime_type: str, data: bytes, shown: types.Part, context: Context
) -> None:
    await context.save_artifact("file", types.Part(inline_data=types.Blob(mime_type=mime_type, data=data)))
    request = await processed(load_artifacts, context, answer("load_artifacts", {"artifact_names": ["file"]}))
    assert parts_of(request.contents[1])[1] == shown


async def test_missing_and_binary_files_are_reported_as_such(context: Context) -> None:
    zipped = types.Blob(mime_type="application/zip", data=b"PK\xff\xfe")
    await context.save_artifact("all.zip", types.Part(inline_data=zipped))
    request = await processed(
        load_artifacts, context, answer("load_artifacts", {"artifact_names": ["all.zip", "x"]})
    )
    reports = [parts_of(item)[0].text for item in request.contents[1:]]
    assert reports == [
        "The file 'all.zip' is binary data that cannot be shown.",
        "There is no file 'x'.",
    ]


async def test_the_answer_names_the_files_that_the_model_has_seen() -> None:
    asked = call("load_artifacts", artifact_names=["user:plan.txt", "gone.txt", "user:plan.txt", "list.txt"])
    model = ScriptedModel(turns=[asked, "Buy tea.", "You are welcome."])
    chat = Conversation(LlmAgent(name="clerk", model=model, tools=[load_artifacts]))
    for name in ("user:plan.txt", "list.txt", "unread.txt"):
        await chat.save_file(name, "Buy tea.")
    [*_, answer] = await chat.say("What is to do?")
    chunks = (answer.grounding_metadata and answer.grounding_metadata.grounding_chunks) or []
    titles = [chunk.retrieved_context.title for chunk in chunks if chunk.retrieved_context]
    assert titles == ["plan.txt", "list.txt"]
    [thanks] = await chat.say("Thank you")
    assert thanks.grounding_metadata is None


async def remember(context: Context, text: str) -> None:
    service = context.invocation.memory_service
    assert service is not None
    session = context.session.model_copy(deep=True, update={"id": "earlier"})
    session.events.append(Event(author="user", content=content(text)))
    await service.add_session_to_memory(session)


async def test_load_memory_searches_earlier_sessions(context: Context) -> None:
    await remember(context, "My cat is called Mia.")
    found = await load_memory.run_async(args={"query": "cat"}, tool_context=context)
    assert [entry.content.parts[0].text for entry in found.memories] == ["My cat is called Mia."]
    request = await processed(load_memory, context)
    assert "load_memory" in request.tools_dict
    assert "load_memory" in instruction(request)


async def test_the_error_for_a_missing_memory_service_names_the_argument(context: Context) -> None:
    context.invocation.memory_service = None
    with pytest.raises(ConfigurationError, match="memory_service"):
        await load_memory.run_async(args={"query": "cat"}, tool_context=context)


async def test_preload_memory_puts_matching_entries_before_the_message(context: Context) -> None:
    await remember(context, "My cat is called Mia.")
    context.invocation.user_content = content("What is my cat called?")
    request = await processed(preload_memory, context)
    [recalled] = [part.text for added in request.contents for part in added.parts or []]
    assert recalled and "user: My cat is called Mia." in recalled
    assert (instruction(request), request.tools_dict) == ("", {})


@pytest.mark.parametrize("case", ["no message", "no match", "no service"])
async def test_preload_memory_adds_nothing_without_message_match_or_service(
    case: str, context: Context
) -> None:
    await remember(context, "My cat is called Mia.")
    context.invocation.user_content = {"no message": None, "no match": content("Weather?")}.get(
        case, content("cat")
    )
    if case == "no service":
        context.invocation.memory_service = None
    request = await processed(preload_memory, context)
    assert (instruction(request), request.contents) == ("", [])


def example() -> Example:
    call = types.Part(function_call=types.FunctionCall(name="find", args={"id": 7}))
    found = types.Part(function_response=types.FunctionResponse(name="find", response={"state": "sent"}))
    return Example(
        input=content("Where is order 7?"),
        output=[
            types.Content(role="model", parts=[call]),
            types.Content(role="user", parts=[found]),
            content("It was sent.", "model"),
        ],
    )


async def test_examples_are_written_into_the_instruction_with_their_calls(context: Context) -> None:
    context.invocation.user_content = content("Where is order 8?")
    text = instruction(await processed(ExampleTool([example()]), context))
    assert text.endswith(
        "Example 1\n"
        "User: Where is order 7?\n"
        'You call find with {"id": 7}\n'
        'find returns {"state": "sent"}\n'
        "You: It was sent."
    )


async def test_values_of_an_example_are_written_as_they_are_also_when_they_are_no_json(
    context: Context,
) -> None:
    args = {"city": "Köln", "day": date(2026, 11, 27)}
    call = types.Part(function_call=types.FunctionCall(name="find", args=args))
    context.invocation.user_content = content("When?")
    one = Example(input=content("When?"), output=[types.Content(role="model", parts=[call])])
    text = instruction(await processed(ExampleTool([one]), context))
    assert text.endswith('You call find with {"city": "Köln", "day": "2026-11-27"}')


async def test_a_provider_selects_examples_for_the_message(context: Context) -> None:
    class ForOrders(BaseExampleProvider):
        def get_examples(self, query: str) -> list[Example]:
            return [example()] if "order" in query else []

    tool = ExampleTool(ForOrders())
    context.invocation.user_content = content("Where is my order?")
    assert "Where is order 7?" in instruction(await processed(tool, context))
    context.invocation.user_content = content("Hello")
    assert instruction(await processed(tool, context)) == ""
    context.invocation.user_content = None
    assert instruction(await processed(tool, context)) == ""

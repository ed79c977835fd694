"""Spec T9, A6, Q9, Q13, F2, F3: the tools that come with the runtime."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.events import Event
from runtime.examples import BaseExampleProvider, Example
from runtime.models.llm_request import LlmRequest
from runtime.tools import (
    BaseTool,
    ExampleTool,
    FunctionTool,
    TransferToAgentTool,
    exit_loop,
    get_user_choice,
    google_search,
    load_artifacts,
    load_memory,
    preload_memory,
    transfer_to_agent,
    url_context,
)


def content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def answer(name: str, response: dict[str, Any]) -> types.Content:
    part = types.Part(function_response=types.FunctionResponse(id="c1", name=name, response=response))
    return types.Content(role="user", parts=[part])


async def processed(tool: BaseTool, context: Context, *contents: types.Content) -> LlmRequest:
    request = LlmRequest(contents=list(contents))
    await tool.process_llm_request(tool_context=context, llm_request=request)
    return request


def instruction(request: LlmRequest) -> str:
    return str(request.config.system_instruction or "")


async def test_a_function_tool_declares_itself_in_the_request(context: Context) -> None:
    def ping() -> None:
        """Ping."""

    tool = FunctionTool(ping)
    request = await processed(tool, context)
    assert request.tools_dict == {"ping": tool}
    assert [item.name for item in request.config.tools[0].function_declarations] == ["ping"]


async def test_a_tool_that_implements_nothing_says_so_when_it_is_called(context: Context) -> None:
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
async def test_model_side_tools_stay_apart_from_the_function_declarations(
    tool: BaseTool, field: str, context: Context
) -> None:
    def ping() -> None:
        """Ping."""

    request = await processed(FunctionTool(ping), context)
    await tool.process_llm_request(tool_context=context, llm_request=request)
    declared, switched_on = request.config.tools
    assert declared.function_declarations
    assert switched_on.model_dump(exclude_none=True) == {field: {}}
    assert list(request.tools_dict) == ["ping"]


async def test_a_model_side_tool_leaves_the_tools_of_the_agents_own_config_as_they_are(
    context: Context,
) -> None:
    own = [types.Tool(code_execution=types.ToolCodeExecution())]
    request = LlmRequest(config=types.GenerateContentConfig(tools=own))
    await google_search.process_llm_request(tool_context=context, llm_request=request)
    assert len(request.config.tools) == 2
    assert len(own) == 1


async def test_load_artifacts_lists_the_files_of_the_session(context: Context) -> None:
    assert instruction(await processed(load_artifacts, context)) == ""
    await context.save_artifact("notes/plan.txt", types.Part(text="Buy tea."))
    request = await processed(load_artifacts, context)
    assert "load_artifacts" in request.tools_dict
    assert "- notes/plan.txt" in instruction(request)


async def test_load_artifacts_shows_the_files_that_were_just_asked_for_in_this_request_only(
    context: Context,
) -> None:
    await context.save_artifact("plan.txt", types.Part(text="Buy tea."))
    result = await load_artifacts.run_async(args={"artifact_names": ["plan.txt"]}, tool_context=context)
    asked = answer("load_artifacts", result)
    request = await processed(load_artifacts, context, content("?"), asked)
    assert request.contents[:2] == [content("?"), asked]
    assert [part.text for part in request.contents[2].parts] == ["The file 'plan.txt':", "Buy tea."]
    later = await processed(load_artifacts, context, asked, content("It says: buy tea.", "model"))
    assert len(later.contents) == 2


@pytest.mark.parametrize(
    ("mime_type", "data", "shown"),
    [
        ("image/png", b"\x89PNG", types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG"))),
        ("application/json", b'{"a": 1}', types.Part(text='{"a": 1}')),
    ],
)
async def test_files_are_shown_in_a_form_that_models_take(
    mime_type: str, data: bytes, shown: types.Part, context: Context
) -> None:
    await context.save_artifact("file", types.Part(inline_data=types.Blob(mime_type=mime_type, data=data)))
    request = await processed(load_artifacts, context, answer("load_artifacts", {"artifact_names": ["file"]}))
    assert request.contents[1].parts[1] == shown


async def test_a_missing_and_a_binary_file_are_said_to_be_so(context: Context) -> None:
    zipped = types.Blob(mime_type="application/zip", data=b"PK\xff\xfe")
    await context.save_artifact("all.zip", types.Part(inline_data=zipped))
    request = await processed(
        load_artifacts, context, answer("load_artifacts", {"artifact_names": ["all.zip", "x"]})
    )
    said = [item.parts[0].text for item in request.contents[1:]]
    assert said == [
        "The file 'all.zip' is binary data that cannot be shown.",
        "There is no file 'x'.",
    ]


async def remember(context: Context, text: str) -> None:
    service = context.invocation.memory_service
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


async def test_load_memory_without_a_memory_service_says_what_to_set(context: Context) -> None:
    context.invocation.memory_service = None
    with pytest.raises(ConfigurationError, match="memory_service"):
        await load_memory.run_async(args={"query": "cat"}, tool_context=context)


async def test_preload_memory_puts_what_fits_the_message_into_the_instruction(context: Context) -> None:
    await remember(context, "My cat is called Mia.")
    context.invocation.user_content = content("What is my cat called?")
    request = await processed(preload_memory, context)
    assert "user: My cat is called Mia." in instruction(request)
    assert request.tools_dict == {}


@pytest.mark.parametrize("case", ["no message", "no match", "no service"])
async def test_preload_memory_adds_nothing_when_there_is_nothing_to_recall(
    case: str, context: Context
) -> None:
    await remember(context, "My cat is called Mia.")
    context.invocation.user_content = {"no message": None, "no match": content("Weather?")}.get(
        case, content("cat")
    )
    if case == "no service":
        context.invocation.memory_service = None
    assert instruction(await processed(preload_memory, context)) == ""


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


async def test_examples_are_told_in_the_instruction_with_their_calls(context: Context) -> None:
    context.invocation.user_content = content("Where is order 8?")
    text = instruction(await processed(ExampleTool([example()]), context))
    assert text.endswith(
        "Example 1\n"
        "User: Where is order 7?\n"
        'You call find with {"id": 7}\n'
        'find returns {"state": "sent"}\n'
        "You: It was sent."
    )


async def test_a_provider_chooses_examples_for_the_message(context: Context) -> None:
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

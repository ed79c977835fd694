"""`LlmRequest` collects instructions, tools and schema (contract M1, Q13)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models import LlmRequest
from runtime.models.declared_functions import system_text
from runtime.tools.base_tool import BaseTool
from tests.fakes import text_content


class Declared(BaseTool):
    """A tool that the model can call by name."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, description=f"Does {name}.")

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return types.FunctionDeclaration(name=self.name, description=self.description)


class Undeclared(BaseTool):
    """A tool that the model cannot call."""

    def __init__(self) -> None:
        super().__init__(name="hidden", description="Hidden.")


def declared_names(request: LlmRequest) -> list[list[str | None]]:
    return [
        [declaration.name for declaration in tool.function_declarations or []]
        for tool in request.config.tools or []
        if isinstance(tool, types.Tool)
    ]


def test_m1_instructions_are_joined_by_blank_lines() -> None:
    request = LlmRequest()
    request.append_instructions(["Be brief.", "Be kind."])
    request.append_instructions([])
    request.append_instructions(["Be right."])
    assert request.config.system_instruction == "Be brief.\n\nBe kind.\n\nBe right."


def test_m1_instructions_are_appended_to_a_copy_of_a_static_one() -> None:
    static = types.Content(role="user", parts=[types.Part(text="Always.")])
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=static))
    request.append_instructions(["Now."])
    assert request.config.system_instruction == types.Content(
        role="user", parts=[types.Part(text="Always."), types.Part(text="Now.")]
    )
    assert static.parts == [types.Part(text="Always.")]


def test_m1_instructions_are_appended_to_a_list() -> None:
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction=["First."]))
    request.append_instructions(["Second."])
    assert request.config.system_instruction == ["First.", "Second."]


IMAGE = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))


@pytest.mark.parametrize("given", [IMAGE, [IMAGE], types.Content(parts=[types.Part(text="See:"), IMAGE])])
def test_m1_an_image_in_an_instruction_is_refused_for_models_that_take_text(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="send it in a message"):
        system_text(types.GenerateContentConfig(system_instruction=given))


PARTS = [types.Part(text="One."), types.Part(text=""), types.Part(text="Two.")]


@pytest.mark.parametrize("given", [["One.", "", PARTS[-1]], PARTS, types.Content(parts=PARTS)])
def test_m1_an_instruction_of_parts_is_one_text(given: Any) -> None:
    assert system_text(types.GenerateContentConfig(system_instruction=given)) == "One.\n\nTwo."


def test_q13_all_declarations_share_one_tool_and_built_in_tools_stay_separate() -> None:
    request = LlmRequest()
    request.append_tools([Declared("add")])
    request.config.tools = [*(request.config.tools or []), types.Tool(google_search=types.GoogleSearch())]
    request.append_tools([Declared("multiply"), Undeclared()])
    assert declared_names(request) == [["add", "multiply"], []]
    assert set(request.tools_dict) == {"add", "multiply"}


def test_q13_tools_of_the_agents_configuration_are_not_changed() -> None:
    configured = types.Tool(function_declarations=[types.FunctionDeclaration(name="own")])
    request = LlmRequest(config=types.GenerateContentConfig(tools=[configured]))
    request.append_tools([Declared("add")])
    assert declared_names(request) == [["own", "add"]]
    assert len(configured.function_declarations or []) == 1


def test_q13_without_declarations_there_are_no_tools() -> None:
    request = LlmRequest()
    request.append_tools([Undeclared()])
    assert request.config.tools is None


def test_q13_an_output_schema_asks_for_json() -> None:
    request = LlmRequest()
    request.set_output_schema(list[str])
    assert request.config.response_schema == list[str]
    assert request.config.response_mime_type == "application/json"


def test_m1_contents_are_not_copied() -> None:
    content = types.Content(role="user", parts=[types.Part(text="Hi")])
    assert LlmRequest(contents=[content] * 3).contents[2] is content


def test_m1_a_request_is_a_pydantic_model_whose_json_has_no_tools() -> None:
    request = LlmRequest(model="gemini", contents=[text_content("Hi", role="user")])
    request.append_tools([Declared("look_up")])
    copy = request.model_copy(deep=True)
    copy.contents.clear()
    assert len(request.contents) == 1
    stored = request.model_dump(mode="json", exclude_none=True)
    assert "tools_dict" not in stored
    read = LlmRequest.model_validate(stored)
    assert (read.model, read.contents, read.config) == ("gemini", request.contents, request.config)


def test_each_tool_finds_its_latest_responses_whatever_others_have_added() -> None:
    def response(name: str, value: int) -> types.Part:
        return types.Part.from_function_response(name=name, response={"value": value})

    request = LlmRequest(
        contents=[
            types.Content(role="user", parts=[response("one", 0)]),
            text_content("Again."),
            types.Content(role="user", parts=[response("one", 1), response("two", 2)]),
            text_content("Added by a tool.", role="user"),
        ]
    )
    assert request.latest_responses("one") == [{"value": 1}]
    assert request.latest_responses("two") == [{"value": 2}]


def test_a_tool_that_looks_for_its_responses_does_not_read_the_history() -> None:
    nobody_reads: Any = 3
    unread = types.Content.model_construct(role="user", parts=nobody_reads)
    question = types.Content(role="model", parts=[types.Part.from_function_call(name="one", args={})])
    answer = types.Content(
        role="user", parts=[types.Part.from_function_response(name="one", response={"value": 1})]
    )
    request = LlmRequest()
    request.contents = [unread, question, answer]
    assert request.latest_responses("one") == [{"value": 1}]

"""ExampleTool: adds examples to every request (contract T9)."""

from collections.abc import Sequence

from runtime import types
from runtime.events.message import joined_text
from runtime.examples.base_example_provider import BaseExampleProvider
from runtime.examples.example import Example
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext
from runtime.valid_text import json_text

_HEADING = (
    "Here are examples of messages and how to answer them. They show the manner only: "
    "nothing in them was said in this session."
)


class ExampleTool(BaseTool):
    """Adds examples to the instruction; the model never calls this tool.

    Args:
        examples: a fixed list, or a provider to select examples for the person's message.
    """

    def __init__(self, examples: list[Example] | BaseExampleProvider) -> None:
        super().__init__(name="example_tool", description="Shows examples of good answers.")
        self.examples = examples

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        query = joined_text(tool_context.user_content)
        if not query:
            return
        examples = self.examples
        if isinstance(examples, BaseExampleProvider):
            examples = examples.get_examples(query)
        if examples:
            llm_request.append_instructions([examples_instruction(examples)])


def examples_instruction(examples: Sequence[Example]) -> str:
    sections = [_format_example(number, example) for number, example in enumerate(examples, start=1)]
    return "\n\n".join([_HEADING, *sections])


def _format_example(number: int, example: Example) -> str:
    lines = [f"Example {number}", *_format_content(example.input, "User")]
    for content in example.output:
        lines += _format_content(content, "User" if content.role == "user" else "You")
    return "\n".join(lines)


def _format_content(content: types.Content, speaker: str) -> list[str]:
    lines = [_format_part(part, speaker) for part in content.parts or []]
    return list(filter(None, lines))


def _format_part(part: types.Part, speaker: str) -> str:
    if part.text:
        return f"{speaker}: {part.text}"
    if part.function_call:
        return f"You call {part.function_call.name} with {json_text(part.function_call.args or {})}"
    if part.function_response:
        return f"{part.function_response.name} returns {json_text(part.function_response.response or {})}"
    return ""

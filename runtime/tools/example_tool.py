"""ExampleTool: adds examples to every request (contract T9)."""

from __future__ import annotations

from runtime.events.message import joined_text
from runtime.examples.base_example_provider import BaseExampleProvider
from runtime.examples.example import Example
from runtime.examples.formatting import examples_instruction
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext


class ExampleTool(BaseTool):
    """Adds examples to the instruction; the model never calls this tool.

    Args:
        examples: a fixed list, or a provider that selects examples for the person's message.
    """

    def __init__(self, examples: list[Example] | BaseExampleProvider) -> None:
        super().__init__(name="example_tool", description="Shows examples of good answers.")
        self.examples = examples

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Add the examples for the person's message, if the message has text."""
        query = joined_text(tool_context.user_content)
        if not query:
            return
        examples = self.examples
        if isinstance(examples, BaseExampleProvider):
            examples = examples.get_examples(query)
        if examples:
            llm_request.append_instructions([examples_instruction(examples)])

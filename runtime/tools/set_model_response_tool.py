"""The tool `set_model_response`: structured answers of models without support for a schema with tools.

See contract A4 and Q18, and `engine.output` for the final response.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.tools.arguments import bad_values, describe_errors
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.tool_context import ToolContext

_NAME = "set_model_response"


class SetModelResponseTool(BaseTool):
    """Accepts the agent's final answer as arguments. A valid answer ends the agent call.

    The fields of an object schema are the parameters. An array of objects is passed as `items`, any other value as
    `response`.

    Args:
        output_schema: a schema in any form of an agent's `output_schema`.
    """

    def __init__(self, output_schema: Any) -> None:
        super().__init__(
            name=_NAME,
            description="Give the final answer. Call it once, alone, when nothing else is left to do.",
        )
        is_normalized = isinstance(output_schema, OutputSchema)
        self._output = output_schema if is_normalized else OutputSchema(output_schema, _NAME)
        self._wrapper = _wrapper_of(self._output.schema)

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = self._output.schema
        if self._wrapper:
            schema = types.Schema(
                type=types.Type.OBJECT, properties={self._wrapper: schema}, required=[self._wrapper]
            )
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the answer and write it to the actions; return `{'error': …}` for an invalid answer."""
        try:
            # A wrong answer goes back to the model as an error, for the model to correct it.
            answer = self._output.read(args.get(self._wrapper) if self._wrapper else args)
        except ValidationError as error:
            path = [self._wrapper] if self._wrapper else []
            return {"error": bad_values(describe_errors(error, *path)).message}
        tool_context.actions.set_model_response = answer
        return answer

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions(
            [f"Give your final answer by calling `{self.name}`, never as text. Use the other tools before."]
        )


def _wrapper_of(schema: types.Schema) -> str | None:
    """Return the name of the parameter for the whole answer; None if the fields of the answer are the parameters."""
    # The parameters of a function are an object, so any other schema needs a wrapper.
    if _has_fields(schema):
        return None
    is_list_of_objects = (
        schema.type is types.Type.ARRAY and schema.items is not None and _has_fields(schema.items)
    )
    return "items" if is_list_of_objects else "response"


def _has_fields(schema: types.Schema) -> bool:
    return schema.type is types.Type.OBJECT and bool(schema.properties)

"""Tools by which a model gives a structured answer: the arguments of the call are the answer.

`set_model_response` is for models without support for a schema with tools: see contract A4 and Q18, and `engine.output`
for the final response. `finish_task` of `task_tools` ends a task.
"""

from typing import Any

from pydantic import ValidationError

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.tools.arguments import bad_values, describe_errors
from runtime.tools.base_tool import BaseTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.tool_context import ToolContext

_NAME = "set_model_response"


class AnswerTool(BaseTool):
    """Accepts an answer as arguments.

    The fields of an object schema are the parameters. Any other answer is the only parameter, because the parameters of
    a function are an object.

    Args:
        output: schema of the answer.
        wrapper: name of the only parameter.
    """

    def __init__(self, *, name: str, description: str, output: OutputSchema, wrapper: str) -> None:
        super().__init__(name=name, description=description)
        self._output = output
        self._wrapper = None if _has_fields(output.schema) else wrapper

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = self._output.schema
        if self._wrapper:
            schema = types.Schema(
                type=types.Type.OBJECT, properties={self._wrapper: schema}, required=[self._wrapper]
            )
        return types.FunctionDeclaration(name=self.name, description=self.description, parameters=schema)

    def accept(self, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        """Write the answer to the actions; return an error for the model, which corrects a wrong answer."""
        given: Any = args
        path: list[str] = []
        if self._wrapper:
            given = args.get(self._wrapper)
            path = [self._wrapper]
        try:
            tool_context.actions.set_model_response = self._output.read(given)
        except ValidationError as error:
            return {"error": bad_values(describe_errors(error, *path)).message}
        return None


class SetModelResponseTool(AnswerTool):
    """Accepts the agent's final answer. A valid answer ends the agent call.

    An array of objects is passed as `items`, any other value that is no object as `response`.

    Args:
        output_schema: a schema in any form of an agent's `output_schema`.
    """

    def __init__(self, output_schema: Any) -> None:
        if not isinstance(output_schema, OutputSchema):
            output_schema = OutputSchema(output_schema, _NAME)
        items = output_schema.schema.items
        super().__init__(
            name=_NAME,
            description="Give the final answer. Call it once, alone, when nothing else is left to do.",
            output=output_schema,
            wrapper="items" if items and _has_fields(items) else "response",
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the answer; return `{'error': …}` for an invalid answer."""
        return self.accept(args, tool_context) or tool_context.actions.set_model_response

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions(
            [f"Give your final answer by calling `{self.name}`, never as text. Use the other tools before."]
        )


def _has_fields(schema: types.Schema) -> bool:
    return schema.type is types.Type.OBJECT and bool(schema.properties)

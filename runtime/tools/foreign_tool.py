"""Tools of other frameworks: objects with a schema of their arguments and a function to call."""

import abc
from typing import Any

from pydantic import BaseModel, ValidationError

from runtime import types
from runtime.context import Context
from runtime.tools.arguments import describe_errors
from runtime.tools.base_tool import BaseTool

Schema = type[BaseModel] | dict[str, Any] | None


class ForeignTool(BaseTool, abc.ABC):
    """Tool with arguments described by a pydantic model or a JSON schema. Imports no framework."""

    def __init__(self, *, name: str, description: str, args_schema: Schema) -> None:
        super().__init__(name=name, description=description)
        self._args_schema = args_schema

    @abc.abstractmethod
    async def call(self, args: dict[str, Any]) -> Any:
        """Call the wrapped tool."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = self._args_schema
        parameters = schema.model_json_schema() if isinstance(schema, type) else schema
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return the wrapped tool's result; `{'error': …}` for the model if the arguments are wrong."""
        if isinstance(self._args_schema, type):
            try:
                # Validated only for the error message: the wrapped tool converts its arguments itself.
                self._args_schema.model_validate(args)
            except ValidationError as error:
                return {"error": f"Nothing was done. {' '.join(describe_errors(error))} Call again."}
        return await self.call(args)

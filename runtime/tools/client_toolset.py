"""ClientToolset: the tools that a person's program declares and executes itself, such as those of a web page.

A program sends the declarations with a message as the value `CLIENT_TOOLS` of the session's state. They are stored with
the message, so a process that resumes the invocation has the same tools. A call waits for the program's answer, as a
call of a `LongRunningFunctionTool` does.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.events.answer_rules import PERSON
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool, is_reserved
from runtime.tools.base_toolset import BaseToolset

CLIENT_TOOLS = "client_tools"
"""Key of the session's state with the declarations: a list of objects with the fields of `ClientFunction`."""
MAX_TOOLS = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class ClientFunction(BaseModel):
    """Declaration of a function of the person's program.

    Attributes:
        parameters: JSON schema of the arguments.
    """

    name: str
    description: str = Field("", max_length=4_000)
    parameters: dict[str, Any] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _is_callable(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or is_reserved(name):
            raise ValueError("a name has 1 to 64 letters, digits, _ or -, and is not that of a built-in tool")
        return name


class ClientTool(BaseTool):
    """A function of the person's program. The person, in whose name the program answers, may answer its calls."""

    answered_by = PERSON
    can_run_in_job = False

    def __init__(self, function: ClientFunction) -> None:
        super().__init__(name=function.name, description=function.description, is_long_running=True)
        self._parameters = function.parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = {"properties": {}, **self._parameters, "type": "object"}
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> None:
        """Return no result: the program sends it."""

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Declare the tool, unless a tool of the agent has its name: a program must not answer in its place."""
        if self.name not in llm_request.tools_dict:
            llm_request.append_tools([self])


class ClientToolset(BaseToolset):
    """Offers the tools that the person's program has declared. Stands last in the tools of its agent."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the declared tools; none outside of an invocation."""
        if readonly_context is None:
            return []
        return [ClientTool(function) for function in client_functions(readonly_context.state)]


def client_functions(state: Mapping[str, Any]) -> list[ClientFunction]:
    """Return the declarations in a state. Whoever may change the state may write there: what is invalid is left out."""
    declared = state.get(CLIENT_TOOLS)
    functions: dict[str, ClientFunction] = {}
    for value in declared[:MAX_TOOLS] if isinstance(declared, list) else ():
        try:
            function = ClientFunction.model_validate(value)
        except ValidationError:
            continue
        functions.setdefault(function.name, function)
    return list(functions.values())

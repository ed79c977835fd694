"""Function declarations, call ids and instructions of a request, for providers other than Google.

These providers agree on functions with a JSON schema, on a result that names the id of its call, and on an instruction
of plain text.
"""

import re
from dataclasses import dataclass
from typing import Literal

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models.json_schema import Json, json_schema_of
from runtime.valid_text import json_text, valid_values

Choice = Literal["auto", "any", "none"]

# Characters and length accepted by all providers.
_VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class DeclaredFunction:
    name: str
    description: str
    parameters: Json


class CallIds:
    """Assign each call of a request a valid, unique id, and find the id for each response.

    A response belongs to the earliest open call of the same function with the same id, or with no id either.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._open: list[tuple[types.FunctionCall, str]] = []

    def of_call(self, call: types.FunctionCall) -> str:
        call_id = call.id or ""
        # Another model may have made the call: Gemini's calls may have no id, and other servers repeat ids.
        if not _VALID_ID.fullmatch(call_id) or call_id in self._used:
            call_id = f"call_{len(self._used) + 1}"
            while call_id in self._used:
                call_id += "_"
        self._used.add(call_id)
        self._open.append((call, call_id))
        return call_id

    def of_response(self, response: types.FunctionResponse) -> str | None:
        """Return the id of the response's call; None if the contents have no such call."""
        for index, (call, call_id) in enumerate(self._open):
            if call.id == response.id and call.name == response.name:
                del self._open[index]
                return call_id
        return None


def functions_of(config: types.GenerateContentConfig, model: str) -> list[DeclaredFunction]:
    """Return the functions that the model may call.

    Raises:
        ConfigurationError: a tool is not a function, but built into Gemini.
    """
    allowed = _allowed_names(config)
    functions = []
    for tool in config.tools or []:
        if not isinstance(tool, types.Tool) or not tool.function_declarations:
            raise ConfigurationError(
                f"Model {model!r} cannot run the tool {_tool_name(tool)}: Gemini runs this tool itself. "
                "Remove it from the agent's tools, or give the agent a Gemini model."
            )
        for declaration in tool.function_declarations:
            if allowed is None or declaration.name in allowed:
                functions.append(_convert_declaration(declaration))
    return functions


def choice_of(config: types.GenerateContentConfig) -> Choice:
    """Return `any` if the model must call a function, `none` if it must not, otherwise `auto`."""
    mode = _calling_config(config).mode
    if mode is types.FunctionCallingConfigMode.ANY:
        return "any"
    if mode is types.FunctionCallingConfigMode.NONE:
        return "none"
    return "auto"


def response_text(response: types.FunctionResponse) -> str:
    """Return a function's result as JSON for the model."""
    return json_text(response.response or {})


def given_options(config: types.GenerateContentConfig, options: Json) -> Json:
    """Return the options with a value, and the headers and extra body of the config's `http_options`."""
    given = {name: valid_values(value) for name, value in options.items() if value is not None}
    http = config.http_options
    if http and http.headers is not None:
        given["extra_headers"] = http.headers
    if http and http.extra_body is not None:
        given["extra_body"] = http.extra_body
    return given


def system_text(config: types.GenerateContentConfig) -> str:
    """Return the system instruction as a text.

    Raises:
        ConfigurationError: a part of the instruction is not text.
    """
    given = config.system_instruction
    if given is None:
        return ""
    pieces = given if isinstance(given, list) else [given]
    return "\n\n".join(filter(None, map(_text_of, pieces)))


def _text_of(piece: object) -> str:
    match piece:
        case str():
            return piece
        case types.Part(text=str() as text):
            return text
        case types.Content():
            return "\n\n".join(filter(None, map(_text_of, piece.parts or [])))
    raise ConfigurationError(
        "This model takes a system instruction of text only, and the instruction has a file or an image: "
        "send it in a message."
    )


def _convert_declaration(declaration: types.FunctionDeclaration) -> DeclaredFunction:
    if declaration.parameters_json_schema is not None:
        parameters = dict(declaration.parameters_json_schema)
    elif declaration.parameters is not None:
        parameters = json_schema_of(declaration.parameters)
    else:
        parameters = {"type": "object", "properties": {}}
    return DeclaredFunction(declaration.name or "", declaration.description or "", parameters)


def _calling_config(config: types.GenerateContentConfig) -> types.FunctionCallingConfig:
    given = config.tool_config.function_calling_config if config.tool_config else None
    return given or types.FunctionCallingConfig()


def _allowed_names(config: types.GenerateContentConfig) -> set[str] | None:
    names = _calling_config(config).allowed_function_names
    return set(names) if names else None


def _tool_name(tool: object) -> str:
    if isinstance(tool, types.Tool):
        return ", ".join(sorted(tool.model_dump(exclude_none=True))) or "without a declaration"
    return repr(tool)

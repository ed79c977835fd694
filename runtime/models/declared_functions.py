"""Function declarations and instructions of a request, for providers other than Google."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models.json_schema import Json, json_schema_of

Choice = Literal["auto", "any", "none"]


@dataclass(frozen=True)
class DeclaredFunction:
    name: str
    description: str
    parameters: Json


def functions_of(config: types.GenerateContentConfig, model: str) -> list[DeclaredFunction]:
    """Return the functions that the model may call.

    Raises:
        ConfigurationError: a tool is not a function, but one that only Gemini runs.
    """
    allowed = _allowed_names(config)
    functions = []
    for tool in config.tools or []:
        if not isinstance(tool, types.Tool) or not tool.function_declarations:
            raise ConfigurationError(
                f"Model {model!r} cannot run the tool {_tool_name(tool)}: Gemini runs this tool itself. "
                "Remove it from the agent's tools, or give the agent a Gemini model."
            )
        functions += [
            _declared(declaration)
            for declaration in tool.function_declarations
            if allowed is None or declaration.name in allowed
        ]
    return functions


def choice_of(config: types.GenerateContentConfig) -> Choice:
    """Return `any` when the model must call a function, and `none` when it must not."""
    mode = _calling_config(config).mode
    match mode:
        case types.FunctionCallingConfigMode.ANY:
            return "any"
        case types.FunctionCallingConfigMode.NONE:
            return "none"
    return "auto"


def response_text(response: types.FunctionResponse) -> str:
    """Return a function's result as the JSON that a model reads."""
    return json.dumps(response.response or {}, ensure_ascii=False, default=str)


def system_text(config: types.GenerateContentConfig) -> str:
    """Return the system instruction as one text.

    Raises:
        ConfigurationError: it has a part that is no text.
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


def _declared(declaration: types.FunctionDeclaration) -> DeclaredFunction:
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

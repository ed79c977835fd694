"""Parameters and body of an operation.

A model gives all arguments in one object. So the properties of a body become arguments next to the parameters, with
unique names. A body that is no plain object (an array, a choice of schemas, a text) becomes one argument.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from runtime.tools.openapi_tool.openapi_spec_parser.model_schema import flattened
from runtime.tools.openapi_tool.openapi_spec_parser.references import (
    Json,
    References,
    as_list,
    as_object,
    as_text,
)
from runtime.tools.openapi_tool.openapi_spec_parser.tool_names import argument_name, unique_argument_names

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

_DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
# The client writes these headers itself; OpenAPI says to ignore the first three as parameters.
_RESERVED_HEADERS = {
    *("accept", "content-type", "authorization", "host", "content-length", "transfer-encoding"),
    *("connection", "upgrade", "cookie", "te", "trailer"),
}


@dataclass(frozen=True)
class ApiParameter:
    """One argument of an operation.

    Attributes:
        name: name of the argument for a model.
        original_name: name in the service.
        location: `path`, `query`, `header`, `cookie` or `body`.
        is_json: True to send the value as JSON text.
    """

    name: str
    original_name: str
    location: str
    schema: Any = None
    required: bool = False
    description: str = ""
    style: str = ""
    explode: bool = False
    allow_reserved: bool = False
    is_json: bool = False


@dataclass(frozen=True)
class ApiBody:
    """Body of an operation.

    Attributes:
        properties: schemas of the properties, each an argument; None if one argument is the whole body.
        encoding: styles of single properties in a form.
    """

    media_type: str
    required: bool
    properties: Json | None
    encoding: Json


def read_parameters(
    path: str, operation: Json, references: References, *, preserve_names: bool = False
) -> tuple[list[ApiParameter], ApiBody | None]:
    """Return the arguments of an operation, with unique names, and its body.

    Raises:
        UnresolvedReferenceError: a parameter or the body is a reference to nothing.
    """
    parameters: list[ApiParameter] = []
    for node in as_list(operation.get("parameters")):
        parameter = _read_parameter(references.resolve(node))
        if parameter is not None:
            parameters.append(parameter)
    known = {parameter.original_name for parameter in parameters if parameter.location == "path"}
    for name in dict.fromkeys(PLACEHOLDER.findall(path)):
        if name not in known:  # A placeholder that the document does not describe.
            undeclared = ApiParameter("", name, "path", {"type": "string"}, required=True, style="simple")
            parameters.append(undeclared)
    body, body_parameters = _read_body(operation.get("requestBody"), references)
    parameters += body_parameters
    names = []
    for parameter in parameters:
        name = parameter.original_name
        if not name or not preserve_names:
            name = argument_name(name, parameter.location)
        names.append(name)
    unique = unique_argument_names(names)
    return [replace(item, name=name) for item, name in zip(parameters, unique, strict=True)], body


def _read_parameter(node: Json) -> ApiParameter | None:
    name = as_text(node.get("name"))
    location = as_text(node.get("in"))
    is_reserved = location == "header" and name.lower() in _RESERVED_HEADERS
    if not name or location not in _DEFAULT_STYLES or is_reserved:
        return None
    style = as_text(node.get("style")) or _DEFAULT_STYLES[location]
    explode = node.get("explode")
    if not isinstance(explode, bool):
        explode = style == "form"
    content = as_object(node.get("content"))
    described = node
    if content:
        described = as_object(next(iter(content.values())))
    return ApiParameter(
        name="",
        original_name=name,
        location=location,
        schema=described.get("schema"),
        required=location == "path" or node.get("required") is True,
        description=as_text(node.get("description")),
        style=style,
        explode=explode,
        allow_reserved=node.get("allowReserved") is True,
        is_json=bool(content),
    )


def _read_body(node: object, references: References) -> tuple[ApiBody | None, list[ApiParameter]]:
    body = references.resolve(node)
    content = as_object(body.get("content"))
    if not content:
        return None, []
    # Prefer a type that can be made from arguments; of any other type a model would write the text itself.
    media_type = next((name for name in content if is_writable(str(name))), next(iter(content)))
    media = as_object(content[media_type])
    schema = media.get("schema")
    required = body.get("required") is True
    described = flattened(references.resolve(schema), references)
    properties = as_object(described.get("properties")) or None
    is_alternative = described.get("type") != "object" and ("oneOf" in described or "anyOf" in described)
    if is_alternative or not is_writable(str(media_type)):
        properties = None
    about = as_text(body.get("description")) or as_text(described.get("description"))
    parsed = ApiBody(str(media_type).lower(), required, properties, as_object(media.get("encoding")))
    if properties is not None:
        return parsed, list(_properties(properties, as_list(described.get("required"))))
    name = "array" if described.get("type") == "array" else "body"
    if media_type.startswith("text/") or not is_writable(str(media_type)):
        schema = {"type": "string"}
    return parsed, [ApiParameter("", name, "body", schema, required, about)]


def _properties(properties: Json, required: list[Any]) -> Iterator[ApiParameter]:
    for name, schema in properties.items():
        if as_object(schema).get("readOnly") is not True:
            yield ApiParameter("", str(name), "body", schema, name in required)


def is_writable(media_type: str) -> bool:
    """Return True for a body made from arguments. A model writes the text of any other body itself."""
    kind = media_type.split(";")[0].strip().lower()
    forms = {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
    return is_json(kind) or kind in forms


def is_json(media_type: str) -> bool:
    """Return True for JSON and types based on JSON, such as `application/problem+json`."""
    kind = media_type.split(";")[0].strip().lower()
    return kind.endswith(("/json", "+json")) or kind == "*/*"

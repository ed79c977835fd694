"""OutputSchema: a uniform view of the forms of an `output_schema` (contract A4).

Types are validated by pydantic. A `types.Schema` or JSON schema is translated to pydantic's core schema, so a response
is validated in the same way, with the same error messages.
"""

import re
from functools import cached_property
from typing import Annotated, Any

from pydantic import GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models.json_schema import json_schema_of
from runtime.tools.schema import adapter_of, schema_of, schema_of_json

_FENCE = "```"
_JSON_SCHEMA_KEYS = {"$defs", "$ref", "$schema"}
_LANGUAGE = re.compile(r"^(json|\w+(?=\n))", re.IGNORECASE)


class OutputSchema:
    """Validates an agent's final response.

    Args:
        given: a pydantic model, a dataclass, a type such as `list[Model]`, a `types.Schema`, its dict form, or a JSON
            schema with `$defs`, `$ref` or `$schema`.
        owner: subject of error messages, such as "Agent 'writer'".

    Raises:
        ConfigurationError: `given` has none of these forms.
    """

    def __init__(self, given: Any, owner: str) -> None:
        self.given = given
        self._owner = owner
        self._declared: types.Schema | None = None
        if isinstance(given, dict | types.Schema):
            self._declared = _as_schema(given, owner)
            self._adapter = _adapter_of_schema(self._declared)
        else:
            self._adapter = adapter_of(given, owner)

    @cached_property
    def schema(self) -> types.Schema:
        """The declaration for a model.

        Raises:
            ConfigurationError: the type cannot be described to a model.
        """
        return self._declared or schema_of(self._adapter, self._owner)

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema as JSON schema.

        Raises:
            ConfigurationError: the type cannot be described to a model.
        """
        return json_schema_of(self.schema)

    @property
    def requested(self) -> types.SchemaUnion:
        """The schema to put into a request: without references, and never the author's own dict."""
        return self._declared or self.given

    def read(self, value: object) -> Any:
        """Validate a value and return it as JSON values. A pydantic model becomes a dict without its None fields.

        Raises:
            pydantic.ValidationError: the value does not follow the schema.
        """
        return self._as_json(self._adapter.validate_python(value))

    def read_json(self, text: str) -> Any:
        """Validate JSON text, which may be in a Markdown code block, and return it like `read`.

        Raises:
            pydantic.ValidationError: the text is not JSON, or does not follow the schema.
        """
        return self._as_json(self._adapter.validate_json(_without_code_fence(text)))

    def _as_json(self, value: object) -> Any:
        return self._adapter.dump_python(value, mode="json", exclude_none=True)


def _without_code_fence(text: str) -> str:
    """Return the content of a text that is one Markdown code block; otherwise the text."""
    # Some models write JSON in this form.
    block = text.strip()
    if len(block) < 2 * len(_FENCE) or not (block.startswith(_FENCE) and block.endswith(_FENCE)):
        return text
    return _LANGUAGE.sub("", block.removeprefix(_FENCE).removesuffix(_FENCE), count=1)


def _as_schema(given: dict[str, Any] | types.Schema, owner: str) -> types.Schema:
    if isinstance(given, types.Schema):
        return given
    if not _JSON_SCHEMA_KEYS.isdisjoint(given):
        return schema_of_json(given, owner)
    try:
        return types.Schema.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise ConfigurationError(
            f"{owner} has a dict as output_schema that is not a valid types.Schema: {place}: {problem['msg']}. "
            "Write it with the fields of types.Schema, or give a JSON schema with `$schema` or a pydantic model."
        ) from error


def _adapter_of_schema(schema: types.Schema) -> TypeAdapter[Any]:
    core = _core_schema(schema)
    return TypeAdapter(Annotated[Any, GetPydanticSchema(lambda _source, _handler: core)])


def _core_schema(schema: types.Schema) -> CoreSchema:
    if schema.any_of:
        core: CoreSchema = core_schema.union_schema([_core_schema(branch) for branch in schema.any_of])
    elif schema.enum:
        core = core_schema.literal_schema(schema.enum)
    else:
        core = _typed_core_schema(schema)
    if schema.nullable:
        return core_schema.nullable_schema(core)
    return core


def _typed_core_schema(schema: types.Schema) -> CoreSchema:
    match schema.type:
        case types.Type.OBJECT:
            return _object_core_schema(schema)
        case types.Type.ARRAY:
            items = _core_schema(schema.items or types.Schema())
            return core_schema.list_schema(items, min_length=schema.min_items, max_length=schema.max_items)
        case types.Type.STRING:
            return core_schema.str_schema(
                min_length=schema.min_length, max_length=schema.max_length, pattern=schema.pattern
            )
        case types.Type.INTEGER:
            return core_schema.int_schema(ge=_as_int(schema.minimum), le=_as_int(schema.maximum))
        case types.Type.NUMBER:
            return core_schema.float_schema(ge=schema.minimum, le=schema.maximum)
        case types.Type.BOOLEAN:
            return core_schema.bool_schema()
        case types.Type.NULL:
            return core_schema.none_schema()
        case _:
            return core_schema.any_schema()


def _as_int(bound: float | None) -> int | None:
    if bound is None:
        return None
    return int(bound)


def _object_core_schema(schema: types.Schema) -> CoreSchema:
    if not schema.properties:
        return core_schema.dict_schema(core_schema.str_schema())
    required = schema.required or []
    fields = {}
    for name, member in schema.properties.items():
        fields[name] = core_schema.typed_dict_field(_core_schema(member), required=name in required)
    return core_schema.typed_dict_schema(fields)

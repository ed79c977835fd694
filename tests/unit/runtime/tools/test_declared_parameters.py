"""Parameters of a declaration with a JSON schema, which a server or another library may have written."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.tools.declared_parameters import parameter_schemas

STRING = {"type": "STRING"}
DEFINITIONS: dict[str, Any] = {
    "Size": {"enum": ["s", "m"]},
    "Tree": {"type": "object", "properties": {"of": {"$ref": "#/$defs/Tree"}}},
    "All8": {"type": "object", "description": "The end."},
}
for number in range(8):
    following = {"$ref": f"#/$defs/All{number + 1}"}
    DEFINITIONS[f"All{number}"] = {"allOf": [following, {**following, "default": 1}] * 10}
for number in range(300):
    DEFINITIONS[f"Long{number}"] = {
        "allOf": [{"$ref": f"#/$defs/Long{number + 1}"}],
        "description": f"Number {number}.",
    }
DEFINITIONS["Long300"] = {"type": "integer", "enum": [7]}
LOOP: dict[str, Any] = {"type": "integer"}
LOOP["allOf"] = [LOOP, LOOP]
LONG = {"type": "INTEGER", "description": "Number 0.", "enum": ["7"]}
READABLE = [
    ({"type": "string", "description": "A name."}, {"type": "STRING", "description": "A name."}),
    ({"const": "a"}, {"enum": ["a"]}),
    ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER", "enum": ["1", "2"]}),
    ({"type": ["string", "null"]}, STRING),
    ({"type": ["string", "integer"]}, {"any_of": [STRING, {"type": "INTEGER"}]}),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"any_of": [STRING]}),
    ({"oneOf": [{"type": "string"}, {"const": 3}]}, {"any_of": [STRING, {"enum": ["3"]}]}),
    ({"type": "array", "items": {"type": "string"}}, {"type": "ARRAY", "items": STRING}),
    ({"type": "array", "items": True, "maxItems": 2.5}, {"type": "ARRAY"}),
    ({"$ref": "#/$defs/Size"}, {"enum": ["s", "m"]}),
    ({"$ref": "#/$defs/Tree"}, {"type": "OBJECT"}),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "OBJECT"}),
    (True, {}),
    ({"$ref": "#/$defs/None"}, {}),
    ({"$ref": f"#/$defs/{'9' * 5_000}"}, {}),
    ({"$ref": "#/$defs/All0"}, {"type": "OBJECT", "description": "The end."}),
    ({"$ref": "#/$defs/Long0"}, LONG),
    ({"allOf": [{"$ref": "#/$defs/Long0"}, {"$ref": "#/$defs/Long8"}]}, LONG),
    (LOOP, {"type": "INTEGER"}),
    ({"type": "any", "not": {"const": 1}, "examples": [1]}, {}),
]


@pytest.mark.parametrize(("node", "expected"), READABLE, ids=lambda value: str(value)[:40])
def test_any_json_schema_of_a_parameter_is_read_as_far_as_it_can_be(
    node: Any, expected: dict[str, Any]
) -> None:
    given = {"properties": {"value": node, "last": {}}, "required": ["value"], "$defs": DEFINITIONS}
    declaration = types.FunctionDeclaration(name="f", parameters_json_schema=given)
    value, last = parameter_schemas(declaration)
    assert (value[0], value[2], last[0], last[2]) == ("value", True, "last", False)
    assert value[1].model_dump(mode="json", exclude_none=True) == expected


@pytest.mark.parametrize("given", [True, {}, {"properties": True}, {"properties": {}, "required": "all"}])
def test_a_json_schema_without_readable_properties_has_no_parameters(given: Any) -> None:
    declaration = types.FunctionDeclaration(name="f", parameters_json_schema=given)
    assert list(parameter_schemas(declaration)) == []

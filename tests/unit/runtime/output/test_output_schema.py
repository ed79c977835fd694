"""Forms of an output schema, and texts that follow it (contract A4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, Field, ValidationError

from runtime import types
from runtime.agents import LlmAgent
from runtime.tools.output_schema import OutputSchema


class Item(BaseModel):
    name: str = Field(min_length=1)
    price: float
    note: str | None = None


@dataclass
class Point:
    x: int
    y: int


ITEM_SCHEMA = types.Schema(
    type=types.Type.OBJECT,
    properties={
        "name": types.Schema(type=types.Type.STRING, min_length=1),
        "price": types.Schema(type=types.Type.NUMBER, minimum=0),
        "size": types.Schema(type=types.Type.STRING, enum=["s", "m"], nullable=True),
        "tags": types.Schema(type=types.Type.ARRAY, items=types.Schema(type=types.Type.INTEGER), max_items=2),
        "id": types.Schema(
            any_of=[types.Schema(type=types.Type.INTEGER), types.Schema(type=types.Type.BOOLEAN)]
        ),
    },
    required=["name", "price"],
)

INVOICE_SCHEMA = {
    "$defs": {
        "Line": {"type": "object", "properties": {"item": {"type": "string"}, "count": {"type": ["integer", "null"]}},
                 "required": ["item"]},
        "Kind": {"enum": ["bill", "credit"], "type": "string"},
        "Node": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}},
    },
    "type": "object",
    "properties": {
        "kind": {"$ref": "#/$defs/Kind"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "tree": {"$ref": "#/$defs/Node"},
        "version": {"const": "1"},
    },
    "required": ["kind", "lines"],
}  # fmt: skip


def read(given: Any, text: str) -> Any:
    return OutputSchema(given, "Agent 'clerk'").read_json(text)


@pytest.mark.parametrize(
    ("given", "text", "value"),
    [
        (Item, '{"name": "tea", "price": 2, "extra": 1}', {"name": "tea", "price": 2.0}),
        (Item, '```json\n{"name": "tea", "price": 2}\n```\n', {"name": "tea", "price": 2.0}),
        (Item, '```{"name": "tea", "price": 2}```', {"name": "tea", "price": 2.0}),
        (int, "``` 3```", 3),
        (Point, '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
        (list[Item], '[{"name": "tea", "price": 2, "note": "hot"}]', [{"name": "tea", "price": 2.0, "note": "hot"}]),
        (list[str], '["a"]', ["a"]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (int, "3", 3),
        (ITEM_SCHEMA, '{"name": "a", "price": 2, "tags": [1]}', {"name": "a", "price": 2.0, "tags": [1]}),
        (ITEM_SCHEMA, '{"name": "a", "price": 2, "id": true}', {"name": "a", "price": 2.0, "id": True}),
        (ITEM_SCHEMA, '{"name": "tea", "price": 2, "size": "m"}', {"name": "tea", "price": 2.0, "size": "m"}),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, '{"a": true}', {"a": True}),
        ({"type": "STRING", "enum": ["a"], "nullable": True}, "null", None),
        ({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True}, "null", None),
        ({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True}, "3", 3),
        ({"type": "OBJECT"}, '{"any": [1]}', {"any": [1]}),
        ({"type": "ARRAY"}, "[1, null]", [1, None]),
        (INVOICE_SCHEMA, '{"kind": "bill", "lines": [{"item": "a", "count": 2}]}',
         {"kind": "bill", "lines": [{"item": "a", "count": 2}]}),
        (INVOICE_SCHEMA, '{"kind": "bill", "lines": [{"item": "a", "count": null}]}',
         {"kind": "bill", "lines": [{"item": "a"}]}),
        (INVOICE_SCHEMA, '{"kind": "bill", "lines": [], "tree": {"below": [{"below": [{"below": []}]}]}}',
         {"kind": "bill", "lines": [], "tree": {"below": [{"below": [{"below": []}]}]}}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, "3", 3),
        ({"$defs": {}, "type": "array", "items": {"const": None}}, "[null]", [None]),
        ({"$defs": {}, "type": "array", "items": {"enum": [None]}}, "[null]", [None]),
        ({"$defs": {}, "type": "array", "items": {"type": ["null"]}}, "[null]", [None]),
        ({"$defs": {}, "type": "array", "items": True}, '[1, "a"]', [1, "a"]),
        ({"$defs": {}, "type": "object", "properties": {"a": True}}, '{"a": [1]}', {"a": [1]}),
    ],
)  # fmt: skip
def test_a4_text_that_follows_the_schema_is_read_as_json_values(given: Any, text: str, value: Any) -> None:
    assert read(given, text) == value
    jsonschema.validate(value, OutputSchema(given, "Agent 'clerk'").json_schema)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Item, "tea costs 2"),
        (Item, "```json```"),
        (Item, "`````"),
        (Item, '```json\n{"name": "tea", "price": 2}'),
        (Item, '{"name": "", "price": 2}'),
        (list[Item], '{"name": "tea", "price": 2}'),
        (ITEM_SCHEMA, '{"name": "tea"}'),
        (ITEM_SCHEMA, '{"name": "tea", "price": -1}'),
        (ITEM_SCHEMA, '{"name": "tea", "price": 1, "size": "l"}'),
        (ITEM_SCHEMA, '{"name": "tea", "price": 1, "tags": [1, 2, 3]}'),
        (ITEM_SCHEMA, '{"name": "tea", "price": 1, "id": "x"}'),
        ({"type": "STRING", "pattern": "^a+$"}, '"b"'),
        ({"type": "INTEGER", "maximum": 3}, "4"),
        ({"type": "NULL"}, "0"),
        (
            {
                "$defs": {"A": {"type": "integer"}},
                "type": "array",
                "items": {"allOf": [{"$ref": "#/$defs/A"}]},
            },
            '["a"]',
        ),
        ({"$defs": {}, "type": "array", "items": {"const": None}}, "[0]"),
        (INVOICE_SCHEMA, '{"kind": "gift", "lines": []}'),
        (INVOICE_SCHEMA, '{"kind": "bill", "lines": [{"count": 2}]}'),
        (INVOICE_SCHEMA, '{"kind": "bill", "lines": [], "version": "2"}'),
    ],
)
def test_a4_text_that_does_not_follow_the_schema_is_refused(given: Any, text: str) -> None:
    with pytest.raises(ValidationError):
        read(given, text)


def test_a4_a_dict_that_is_not_a_schema_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match=r"Agent 'clerk'.*types\.Schema"):
        LlmAgent(name="clerk", output_schema={"type": "OBJECT", "fields": {}})


def test_a4_a_json_schema_with_a_reference_to_nothing_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match=r"Agent 'clerk'.*'#/\$defs/Line', which names nothing"):
        LlmAgent(
            name="clerk", output_schema={"type": "array", "items": {"$ref": "#/$defs/Line"}, "$defs": {}}
        )


def test_a4_a_json_schema_that_combines_schemas_is_refused_at_construction() -> None:
    both = [{"type": "object"}, {"required": ["a"]}]
    with pytest.raises(ValueError, match=r"Agent 'clerk'.*allOf"):
        LlmAgent(name="clerk", output_schema={"$defs": {}, "type": "array", "items": {"allOf": both}})


def test_a4_a_type_unknown_to_pydantic_is_refused_at_construction() -> None:
    class Odd:
        pass

    with pytest.raises(ValueError, match="Agent 'clerk'"):
        LlmAgent(name="clerk", output_schema=Odd)

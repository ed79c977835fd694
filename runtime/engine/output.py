"""A final response as the object that `output_schema` describes (spec A4)."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from runtime import types


def parse_output(schema: Any, text: str) -> Any:
    """The text, JSON by the schema, as JSON values: a dict for a model.

    Raises:
        pydantic.ValidationError: the text does not follow the schema.
    """
    if isinstance(schema, dict | types.Schema):
        return TypeAdapter(Any).validate_json(text)
    adapter = TypeAdapter(schema)
    return adapter.dump_python(adapter.validate_json(text), mode="json", exclude_none=True)

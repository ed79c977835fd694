"""Objects made without pydantic's own methods are those that its methods make."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from runtime import types
from runtime._pydantic_models import construct
from runtime.events import Event, EventActions

CONTENT = types.Content(role="model", parts=[types.Part(text="hi")])
VALUES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (Event, {"author": "agent", "id": "e", "timestamp": 1.0, "content": CONTENT}),
    (EventActions, {"escalate": True}),
    (EventActions, {}),
    (types.Content, {"role": "user", "parts": []}),
    (types.Part, {"function_response": types.FunctionResponse(id="c", name="f", response={"a": 1})}),
    (types.FunctionResponse, {"id": "c", "name": "f", "response": {"a": 1}}),
    (types.FunctionDeclaration, {"name": "f", "description": "Find it.", "parameters": None}),
    (types.Tool, {"function_declarations": []}),
    (types.GenerateContentConfig, {}),
]


def assert_same(made: BaseModel, expected: BaseModel) -> None:
    """Compare all that pydantic keeps of an object, and its JSON, whose order is that of the attributes."""
    assert made == expected
    assert made.model_fields_set == expected.model_fields_set
    assert made.__pydantic_extra__ == expected.__pydantic_extra__
    assert made.__pydantic_private__ == expected.__pydantic_private__
    assert made.model_dump_json() == expected.model_dump_json()


@pytest.mark.parametrize(("model", "values"), VALUES)
def test_an_object_is_the_validated_one(model: type[BaseModel], values: dict[str, Any]) -> None:
    assert_same(construct(model, **values), model.model_construct(**values))
    assert_same(construct(model, **values), model(**values))


@pytest.mark.parametrize(("model", "values"), VALUES)
def test_the_models_have_neither_private_attributes_nor_defaults_that_can_be_changed(
    model: type[BaseModel], values: dict[str, Any]
) -> None:
    assert not model.__private_attributes__ and model.__pydantic_post_init__ is None
    assert all(
        field.default is None or field.default_factory or isinstance(field.default, str)
        for field in model.model_fields.values()
    )


def test_two_objects_share_no_default() -> None:
    one, other = construct(EventActions), construct(EventActions)
    one.state_delta["a"] = 1
    assert other.state_delta == {}

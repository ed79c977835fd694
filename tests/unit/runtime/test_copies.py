"""Deep copies equal what they were made of, and share nothing that can be changed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

from runtime import types
from runtime._pydantic_models import deep_copy
from runtime.events import Event, EventActions


class Handle(BaseModel):
    """Model that is shared by its copies."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Handle:
        return self


class Open(BaseModel):
    """Model with fields of any name and a private attribute."""

    model_config = ConfigDict(extra="allow")
    _noted: list[int] = PrivateAttr(default_factory=list)


class Notes(BaseModel):
    """Model with fields of any name only."""

    model_config = ConfigDict(extra="allow")


def event() -> Event:
    call = types.FunctionCall(id="c", name="f", args={"deep": [{"list": [1]}]})
    return Event(
        author="agent",
        content=types.Content(role="model", parts=[types.Part(function_call=call), types.Part(text="hi")]),
        actions=EventActions(state_delta={"list": [1]}),
        long_running_tool_ids={"c"},
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=3),
    )


def change(value: Any) -> None:
    """Change everything that can be changed in place."""
    if isinstance(value, BaseModel):
        for inner in [*vars(value).values(), value.__pydantic_extra__, value.__pydantic_private__]:
            change(inner)
        for name in type(value).model_fields:
            setattr(value, name, None)
        value.model_fields_set.clear()
    elif isinstance(value, dict | list | set):
        for inner in list(value.values() if isinstance(value, dict) else value):
            change(inner)
        value.clear()


@pytest.mark.parametrize("make", [event, lambda: Open(found=[1]), lambda: {"a": [event()], "b": (1, [2])}])
def test_a_copy_is_equal_and_shares_nothing(make: Any) -> None:
    value = make()
    copied, again = deep_copy(value), deep_copy(value)
    assert copied == value
    change(value)
    assert value != again
    assert copied == again
    first, second = (item if isinstance(item, BaseModel) else item["a"][0] for item in (copied, again))
    assert first.model_fields_set == second.model_fields_set != set()


def test_a_copy_does_not_change_when_another_copy_does() -> None:
    """A private attribute, too."""
    first = Open()
    first._noted.append(1)
    second = deep_copy(first)
    first._noted.append(2)
    assert second._noted == [1]


def test_a_copy_of_a_model_without_values_can_be_given_some() -> None:
    copied: Any = deep_copy(Notes())
    copied.found = 1
    assert copied.model_dump() == {"found": 1}


def test_a_model_that_copies_itself_is_asked() -> None:
    handle = Handle()
    assert deep_copy([handle])[0] is handle

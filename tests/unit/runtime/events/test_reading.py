"""Events read from their JSON equal those that pydantic validates (contract E1, E8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from runtime import types
from runtime._pydantic_models import deep_copy
from runtime.events import Event, EventActions, EventCompaction
from runtime.events.reading import _PLAIN_MODELS, read_event

SIGNATURE = bytes(range(250, 256)) * 3
USAGE = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=3,
    prompt_tokens_details=[types.ModalityTokenCount(modality=types.MediaModality.TEXT, token_count=3)],
    traffic_type=types.TrafficType.ON_DEMAND,
)
CALL = types.Part(
    function_call=types.FunctionCall(id="adk-1", name="f", args={"a": [1, 2.5, None, {"b": True}]})
)
RESPONSE = types.Part(
    function_response=types.FunctionResponse(id="adk-1", name="f", response={"result": "ü"})
)
THOUGHT = types.Part(text="hm", thought=True, thought_signature=SIGNATURE)
FILE = types.Part(inline_data=types.Blob(data=SIGNATURE, mime_type="image/png"))
CODE = types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON))


def event_with(*parts: types.Part, **fields: Any) -> Event:
    return Event(
        author="agent", invocation_id="e-1", content=types.Content(role="model", parts=list(parts)), **fields
    )


PLAIN = {
    "text": event_with(types.Part(text="hello")),
    "call": event_with(CALL, long_running_tool_ids={"adk-1"}, branch="p.agent"),
    "response": event_with(
        RESPONSE, actions=EventActions(state_delta={"user:a": [1]}, artifact_delta={"x": 2})
    ),
    "thought": event_with(THOUGHT, usage_metadata=USAGE, finish_reason=types.FinishReason.STOP),
    "without content": Event(author="user", custom_metadata={"k": {"n": 1}}, error_code="E", avg_logprobs=-1),
    "rewind": Event(actions=EventActions(rewind_before_invocation_id="e-1", set_model_response=[1])),
}
OTHERS = {
    "file": event_with(FILE),
    "code": event_with(CODE),
    "summary": Event(
        actions=EventActions(
            compaction=EventCompaction(start_timestamp=1, end_timestamp=2, compacted_content=types.Content())
        )
    ),
}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
JSON_OBJECTS = st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=2)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of JSON objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


TEXTS = st.text(max_size=5)
PARTS = objects(
    text=TEXTS,
    thought=st.booleans(),
    thoughtSignature=st.sampled_from(["YQ==", "-_8=", "+/8=", "x"]),
    functionCall=objects(id=TEXTS, name=TEXTS, args=JSON_OBJECTS),
    functionResponse=objects(id=TEXTS, name=TEXTS, response=JSON_OBJECTS),
)
BODIES = objects(
    id=TEXTS,
    author=TEXTS,
    invocationId=TEXTS,
    timestamp=st.floats(0, 2e9) | st.integers(0, 2_000_000_000),
    branch=TEXTS,
    partial=st.booleans(),
    content=objects(role=TEXTS, parts=st.lists(PARTS, max_size=3)),
    actions=objects(
        stateDelta=JSON_OBJECTS,
        artifactDelta=st.dictionaries(TEXTS, st.integers(), max_size=2),
        escalate=st.booleans(),
    ),
    longRunningToolIds=st.lists(TEXTS, max_size=2),
    customMetadata=JSON_OBJECTS,
    finishReason=st.sampled_from(["STOP", "OTHER", "stop"]),
    usageMetadata=objects(
        promptTokenCount=st.integers(), trafficType=st.sampled_from(["ON_DEMAND", "on_demand"])
    ),
)


def values_of(value: Any) -> Any:
    """Return all attributes, with the names of those that were given."""
    if isinstance(value, BaseModel):
        attributes = {name: values_of(attribute) for name, attribute in value.__dict__.items()}
        return type(value), list(attributes.items()), value.model_fields_set, value.__pydantic_private__
    return [values_of(item) for item in value] if isinstance(value, list) else (type(value), value)


def stored(event: Event) -> str:
    return event.model_dump_json(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("event", [*PLAIN.values(), *OTHERS.values()], ids=[*PLAIN, *OTHERS])
def test_an_event_is_read_as_pydantic_validates_it(event: Event) -> None:
    assert values_of(read_event(stored(event))) == values_of(Event.model_validate_json(stored(event)))
    assert stored(read_event(stored(event))) == stored(event)


@pytest.mark.parametrize("event", PLAIN.values(), ids=PLAIN)
def test_a_common_event_is_read_without_a_validation(event: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation takes more than twice the time, of which a session of thousands of events has enough."""
    monkeypatch.setattr(Event, "model_validate_json", None)
    assert read_event(stored(event)) == event


@pytest.mark.parametrize(
    "changes",
    [
        {"fromTheFuture": 1},
        {"author": None},
        {"timestamp": "5"},
        {"timestamp": 5},
        {"partial": "true"},
        {"invocation_id": "by its other name"},
        {"finishReason": "stop"},
        {"content": {"parts": [{"text": "a", "thoughtSignature": "no base64 at all"}]}},
        {"content": {"parts": [{"text": "a", "thoughtSignature": "YQ=="}]}},
        {"content": {"parts": [{"text": "a", "thoughtSignature": "YQ*=="}]}},
        {"content": {"parts": [{"text": "a", "thoughtSignature": "+/8="}]}},
        {"content": {"parts": [{"text": 5}]}},
        {"content": {"parts": "text"}},
        {"content": {"parts": [{"words": "hi"}]}},
        {"content": "text"},
        {"message": "text"},
        {"actions": {"stateDelta": None, "fromTheFuture": None}},
        {"actions": {"stateDelta": []}},
        {"longRunningToolIds": "adk-1"},
        {"longRunningToolIds": [["adk-1"]]},
        {"timestamp": 10**400},
    ],
    ids=lambda changes: str(changes)[:80],
)
def test_unusual_values_are_read_or_refused_as_pydantic_does(changes: dict[str, Any]) -> None:
    assert_read_as_pydantic_does({**json.loads(stored(PLAIN["text"])), **changes})


@given(
    BODIES,
    st.dictionaries(st.sampled_from(["author", "content", "actions", "partial"]), JSON_VALUES, max_size=1),
)
def test_any_event_is_read_or_refused_as_pydantic_does(values: dict[str, Any], odd: dict[str, Any]) -> None:
    assert_read_as_pydantic_does({"id": "1", "timestamp": 1.5, **values, **odd})


def assert_read_as_pydantic_does(values: dict[str, Any]) -> None:
    body = json.dumps(values)
    try:
        expected = Event.model_validate_json(body)
    except ValidationError as error:
        with pytest.raises(ValidationError) as raised:
            read_event(body)
        assert str(raised.value) == str(error)
    else:
        assert values_of(read_event(body)) == values_of(expected)


@pytest.mark.parametrize(
    "body", ["", "[]", "null", '{"a":' * 2_000 + "1" + "}" * 2_000], ids=["", "[]", "null", "deep"]
)
def test_what_is_no_event_is_refused(body: str) -> None:
    with pytest.raises(ValidationError):
        read_event(body)


def test_an_event_without_an_id_gets_one() -> None:
    first, second = (read_event('{"author": "user"}') for _ in "12")
    assert first.id and first.id != second.id
    assert first.actions is not second.actions


def test_an_edited_copy_leaves_the_given_fields_of_all_events_as_they_are() -> None:
    first, second = (read_event(stored(PLAIN["text"])) for _ in "12")
    for copy in (first.model_copy(), first.model_copy(deep=True), deep_copy(first)):
        copy.branch = "edited"
        assert "branch" in copy.model_fields_set
    assert "branch" not in first.model_fields_set | second.model_fields_set


def test_the_models_that_are_read_have_no_other_validators() -> None:
    """Reading skips the validators: a new one of google-genai must be looked at."""
    known = {"_check_field_type_mismatches", "_place_message_and_state", "_drop_nulls"}
    for model in _PLAIN_MODELS:
        found = model.__pydantic_decorators__
        assert known.issuperset(found.model_validators), model
        assert not (found.validators or found.field_validators or found.root_validators), model
        assert not [name for name, field in model.model_fields.items() if field.is_required()], model

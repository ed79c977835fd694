"""Contract E1 to E4, E6: an event's JSON, its methods, and the example events of the ADK pages."""

from __future__ import annotations

import json
from typing import Any
from uuid import RFC_4122, UUID

import pytest

from runtime import _platform, types
from runtime.events import Event, EventActions

EXAMPLES: dict[str, tuple[dict[str, Any], bool]] = {
    "user input": (
        {
            "author": "user",
            "invocation_id": "e-xyz",
            "content": {"parts": [{"text": "Book a flight to London for next Tuesday"}]},
        },
        True,
    ),
    "final text": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": {"parts": [{"text": "Okay. Which city do you leave from?"}]},
            "partial": False,
            "turn_complete": True,
        },
        True,
    ),
    "streaming text": (
        {
            "author": "SummaryAgent",
            "invocation_id": "e-abc",
            "content": {"parts": [{"text": "The document has three points:"}]},
            "partial": True,
            "turn_complete": False,
        },
        False,
    ),
    "tool call": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": {"parts": [{"function_call": {"name": "find_airports", "args": {"city": "London"}}}]},
        },
        False,
    ),
    "tool result": (
        {
            "author": "TravelAgent",
            "invocation_id": "e-xyz",
            "content": {
                "role": "user",
                "parts": [
                    {
                        "function_response": {
                            "name": "find_airports",
                            "response": {"result": ["LHR", "LGW", "STN"]},
                        }
                    }
                ],
            },
        },
        False,
    ),
    "tool result without summary": (
        {
            "author": "TravelAgent",
            "content": {
                "role": "user",
                "parts": [{"function_response": {"name": "find_airports", "response": {"result": []}}}],
            },
            "actions": {"skip_summarization": True},
        },
        True,
    ),
    "state and artifact only": (
        {
            "author": "InternalUpdater",
            "invocation_id": "e-def",
            "content": None,
            "actions": {
                "state_delta": {"user_status": "verified"},
                "artifact_delta": {"verification_doc.pdf": 2},
            },
        },
        True,
    ),
    "transfer": (
        {
            "author": "OrchestratorAgent",
            "invocation_id": "e-789",
            "content": {
                "parts": [{"function_call": {"name": "transfer_to_agent", "args": {"agent_name": "Billing"}}}]
            },
            "actions": {"transfer_to_agent": "Billing"},
        },
        False,
    ),
    "escalation": (
        {
            "author": "CheckerAgent",
            "invocation_id": "e-loop",
            "content": {"parts": [{"text": "Tried as often as is allowed."}]},
            "actions": {"escalate": True},
        },
        True,
    ),
    "error": (
        {
            "author": "LLMAgent",
            "invocation_id": "e-err",
            "error_code": "SAFETY_FILTER_TRIGGERED",
            "error_message": "The answer was blocked.",
        },
        True,
    ),
}


def camel(value: object) -> object:
    """Return the example with camelCase field names, as in JSON."""
    if isinstance(value, dict):
        kept = ("state_delta", "artifact_delta", "args", "response")
        return {_camel(key): item if key in kept else camel(item) for key, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def event_of(*parts: types.Part, **fields: Any) -> Event:
    return Event(author="agent", content=types.Content(role="model", parts=list(parts)), **fields)


@pytest.mark.parametrize(("example", "is_final"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_event_of_the_pages_goes_through_json_unchanged(
    example: dict[str, Any], is_final: bool
) -> None:
    """Contract E6: snake_case and camelCase names are both accepted.

    `is_final_response` follows E4. The ADK pages call a state-only event and an escalation with text non-final;
    google-adk's Python code treats them as final.
    """
    event = Event.model_validate(example)
    assert event.is_final_response() is is_final
    text = event.model_dump_json(by_alias=True, exclude_none=True)
    assert Event.model_validate_json(text) == event
    written = json.loads(text)
    expected = camel({key: value for key, value in example.items() if value is not None})
    assert isinstance(expected, dict)
    assert {key: written[key] for key in expected if key != "actions"} == {
        key: value for key, value in expected.items() if key != "actions"
    }
    assert expected.get("actions", {}).items() <= written["actions"].items()
    assert Event.model_validate({**expected, "id": event.id, "timestamp": event.timestamp}) == event


TEXT = types.Part(text="done")
CALL = types.Part(function_call=types.FunctionCall(name="f", id="c1"))
RESPONSE = types.Part(function_response=types.FunctionResponse(name="f", id="c1", response={}))
CODE = types.Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON))
CODE_RESULT = types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK))


@pytest.mark.parametrize(
    ("event", "is_final"),
    [
        (event_of(TEXT), True),
        (event_of(TEXT, partial=True), False),
        (event_of(TEXT, partial=False), True),
        (event_of(CALL), False),
        (event_of(TEXT, CALL), False),
        (event_of(RESPONSE), False),
        (event_of(CODE_RESULT), False),
        (event_of(CODE_RESULT, TEXT), True),
        (event_of(TEXT, CODE), True),
        (event_of(CALL, long_running_tool_ids={"c1"}), True),
        (event_of(CALL, long_running_tool_ids=set()), False),
        (event_of(RESPONSE, actions=EventActions(skip_summarization=True)), True),
        (event_of(TEXT, partial=True, actions=EventActions(skip_summarization=True)), True),
        (event_of(), True),
        (Event(author="agent"), True),
        (Event(author="agent", content=types.Content(role="model")), True),
    ],
)
def test_is_final_response_follows_content_and_actions(event: Event, is_final: bool) -> None:
    """Contract E4."""
    assert event.is_final_response() is is_final


def test_calls_and_responses_come_in_the_order_of_the_parts() -> None:
    """Contract E3."""
    second = types.Part(function_call=types.FunctionCall(name="g", id="c2"))
    event = event_of(TEXT, CALL, RESPONSE, second)
    assert [call.id for call in event.get_function_calls()] == ["c1", "c2"]
    assert [response.id for response in event.get_function_responses()] == ["c1"]
    assert Event(author="agent").get_function_calls() == []
    assert Event(author="agent").get_function_responses() == []


def test_only_a_code_result_in_the_last_part_counts_as_trailing() -> None:
    """Contract E3."""
    assert event_of(TEXT, CODE_RESULT).has_trailing_code_execution_result()
    assert not event_of(CODE_RESULT, TEXT).has_trailing_code_execution_result()
    assert not Event(author="agent").has_trailing_code_execution_result()


def test_a_missing_id_and_timestamp_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract E2."""
    assert Event(author="a").id != Event(author="a").id
    monkeypatch.setattr(_platform, "now", lambda: 1_700_000_000.5)
    monkeypatch.setattr(_platform, "new_id", lambda: "fresh")
    event = Event(author="a")
    assert (event.id, event.timestamp) == ("fresh", 1_700_000_000.5)
    given = Event(author="a", id="mine", timestamp=3.0)
    assert (given.id, given.timestamp) == ("mine", 3.0)


def test_generated_ids_are_random_uuids() -> None:
    ids = [Event().id for _ in range(100)]
    assert {(UUID(text).version, UUID(text).variant, str(UUID(text)) == text) for text in ids} == {
        (4, RFC_4122, True)
    }
    assert len(set(ids)) == 100


def test_unknown_fields_are_ignored_on_load() -> None:
    """Contract E1."""
    event = Event.model_validate({"author": "a", "fromTheFuture": 1, "invocationId": "e-1"})
    assert event.invocation_id == "e-1"
    assert "fromTheFuture" not in event.model_dump(by_alias=True)


def test_json_names_are_camel_case_and_python_names_are_accepted() -> None:
    """Contract E1."""
    event = Event(author="a", invocation_id="e-1", turn_complete=True, long_running_tool_ids={"c1"})
    written = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert written["invocationId"] == "e-1"
    assert written["turnComplete"] is True
    assert written["longRunningToolIds"] == ["c1"]
    assert Event.model_validate(written) == Event.model_validate(event.model_dump()) == event


def test_bytes_survive_json() -> None:
    """Contract E1."""
    blob = types.Part(inline_data=types.Blob(data=bytes(range(256)), mime_type="image/png"))
    thought = types.Part(text="hm", thought=True, thought_signature=b"\xff\xfe\x00")
    event = event_of(blob, thought)
    assert Event.model_validate_json(event.model_dump_json(by_alias=True, exclude_none=True)) == event


def test_the_text_of_an_event_leaves_thoughts_out() -> None:
    event = event_of(types.Part(text="hm", thought=True), types.Part(text="a"), CALL, types.Part(text="b"))
    assert event.text() == "ab"
    assert Event(author="a").text() == ""


def made_of(**fields: Any) -> Event:
    return Event(author="agent", **fields)


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        types.Part(text="hi"),
        {"text": "hi"},
        ["hi"],
        {"parts": [{"text": "hi"}]},
        types.Content(parts=[types.Part(text="hi")]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_an_event_takes_a_message_in_any_form_as_its_content(message: Any) -> None:
    """Contract E1."""
    event = made_of(message=message)
    assert event.content == event.message == types.Content(parts=[types.Part(text="hi")])


def test_a_message_of_another_type_or_beside_a_content_is_an_error() -> None:
    """Contract E1."""
    with pytest.raises(ValueError, match="cannot hold an int"):
        made_of(message=[7])
    with pytest.raises(ValueError, match="message or a content"):
        made_of(message="hi", content=types.Content(parts=[TEXT]))


def test_the_state_of_an_event_replaces_the_state_delta_of_its_actions() -> None:
    """Contract E1."""
    given = EventActions(escalate=True, state_delta={"old": 1})
    event = made_of(state={"new": 2}, actions=given)
    assert event.actions == EventActions(escalate=True, state_delta={"new": 2})
    assert given.state_delta == {"old": 1}


@pytest.mark.parametrize("by_alias", [True, False])
def test_an_event_written_with_nulls_and_with_fields_of_google_adk_is_read(by_alias: bool) -> None:
    """Contract E1, E5."""
    event = event_of(TEXT, invocation_id="e-1")
    written = json.loads(event.model_dump_json(by_alias=by_alias))
    written["actions"] |= {"transferReason": None, "route": None, "renderUiWidgets": None, "stateDelta": None}
    written |= {"output": None, "nodeInfo": {"path": ""}, "isolationScope": None}
    assert Event.model_validate_json(json.dumps(written)) == event

"""Contract E5, T2, Q1: an event's actions, and the merged actions of several calls."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runtime import types
from runtime.events import EventActions, EventCompaction, ToolConfirmation
from runtime.events.event_actions import merge_actions


def test_the_fields_are_those_of_the_adk() -> None:
    """Contract E5."""
    assert set(EventActions.model_fields) >= {
        "state_delta",
        "artifact_delta",
        "transfer_to_agent",
        "escalate",
        "skip_summarization",
        "requested_auth_configs",
        "requested_tool_confirmations",
        "end_of_agent",
        "agent_state",
        "rewind_before_invocation_id",
        "compaction",
    }


@pytest.mark.parametrize("unknown", [{"stateDeltas": {}}, {"state": {}}, {"transfer": "x"}])
def test_an_unknown_field_is_an_error(unknown: dict[str, Any]) -> None:
    """Contract E5."""
    with pytest.raises(ValidationError, match=next(iter(unknown))):
        EventActions.model_validate(unknown)


def test_all_fields_go_through_json() -> None:
    """Contract E5."""
    actions = EventActions(
        state_delta={"a": [1], "user:b": None},
        artifact_delta={"x.txt": 0},
        transfer_to_agent="b",
        escalate=True,
        skip_summarization=False,
        requested_tool_confirmations={"c1": ToolConfirmation(hint="Sure?", payload={"n": 1})},
        end_of_agent=True,
        agent_state={"step": 2},
        rewind_before_invocation_id="e-1",
        compaction=EventCompaction(
            start_timestamp=1.0, end_timestamp=2.0, compacted_content=types.Content(role="model", parts=[])
        ),
    )
    text = actions.model_dump_json(by_alias=True, exclude_none=True)
    assert EventActions.model_validate_json(text) == actions
    assert EventActions.model_validate_json(actions.model_dump_json()) == actions


@pytest.mark.parametrize(
    ("all_actions", "merged"),
    [
        ([], EventActions()),
        ([EventActions(), EventActions()], EventActions()),
        (
            [EventActions(state_delta={"a": 1, "b": 1}), EventActions(state_delta={"b": 2, "c": 2})],
            EventActions(state_delta={"a": 1, "b": 2, "c": 2}),
        ),
        (
            [
                EventActions(state_delta={"d": {"x": 1, "y": 1}}),
                EventActions(state_delta={"d": {"y": 2}}),
            ],
            EventActions(state_delta={"d": {"x": 1, "y": 2}}),
        ),
        (
            [EventActions(artifact_delta={"f": 0, "g": 3}), EventActions(artifact_delta={"f": 1})],
            EventActions(artifact_delta={"f": 1, "g": 3}),
        ),
        ([EventActions(escalate=True), EventActions()], EventActions(escalate=True)),
        (
            [EventActions(transfer_to_agent="a"), EventActions(transfer_to_agent="b")],
            EventActions(transfer_to_agent="b"),
        ),
        (
            [EventActions(skip_summarization=True), EventActions(state_delta={"a": 1})],
            EventActions(skip_summarization=True, state_delta={"a": 1}),
        ),
    ],
)
def test_later_actions_win_when_merged(all_actions: list[EventActions], merged: EventActions) -> None:
    """Contract T2."""
    assert merge_actions(all_actions) == merged


def test_merging_does_not_change_the_given_actions() -> None:
    """Contract T2."""
    first = EventActions(state_delta={"d": {"x": 1}})
    merge_actions([first, EventActions(state_delta={"d": {"y": 2}})]).state_delta["d"]["z"] = 3
    assert first == EventActions(state_delta={"d": {"x": 1}})


def test_merged_actions_have_only_fields_that_a_call_set() -> None:
    """Contract Q1."""
    merged = merge_actions([EventActions(state_delta={"a": 1}), EventActions()])
    assert merged.model_dump(exclude_unset=True) == {"state_delta": {"a": 1}}


@pytest.mark.parametrize(
    ("actions", "is_controlling"),
    [
        (EventActions(), False),
        (EventActions(state_delta={"a": 1}, artifact_delta={"f": 0}), False),
        (EventActions(transfer_to_agent="a"), True),
        (EventActions(escalate=True), True),
        (EventActions(skip_summarization=True), True),
        (EventActions(requested_tool_confirmations={"c1": ToolConfirmation()}), True),
    ],
)
def test_some_actions_decide_what_runs_next(actions: EventActions, is_controlling: bool) -> None:
    assert bool(actions.controls_flow()) is is_controlling

"""The side effects that an event carries (spec E5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime import types
from runtime.auth.auth_tool import AuthConfig
from runtime.events.tool_confirmation import ToolConfirmation


class EventCompaction(BaseModel):
    """A summary that stands for the events of a span of time, both ends included (spec R4)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    start_timestamp: float
    end_timestamp: float
    compacted_content: types.Content


class EventActions(BaseModel):
    """What committing the event does beyond recording it. Unknown fields are an error."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", ser_json_bytes="base64"
    )

    skip_summarization: bool | None = None
    state_delta: dict[str, Any] = Field(default_factory=dict)
    artifact_delta: dict[str, int] = Field(default_factory=dict)
    transfer_to_agent: str | None = None
    escalate: bool | None = None
    requested_auth_configs: dict[str, AuthConfig] = Field(default_factory=dict)
    requested_tool_confirmations: dict[str, ToolConfirmation] = Field(default_factory=dict)
    end_of_agent: bool | None = None
    agent_state: dict[str, Any] | None = None
    rewind_before_invocation_id: str | None = None
    compaction: EventCompaction | None = None

    def asks_person(self) -> bool:
        """Whether calls wait for what only the person can give (spec T7, T8)."""
        return bool(self.requested_auth_configs or self.requested_tool_confirmations)

    def controls_flow(self) -> bool:
        """Whether these actions decide what runs next, rather than only record something."""
        return bool(self.transfer_to_agent or self.escalate or self.skip_summarization or self.asks_person())


def merge_actions(several: Iterable[EventActions]) -> EventActions:
    """One `EventActions` for the calls of one step, in call order: later ones win (spec T2, Q1).

    It holds nothing that no call set.
    """
    merged: dict[str, Any] = {}
    for actions in several:
        for name in EventActions.model_fields:
            value = getattr(actions, name)
            if value:
                known = merged.get(name)
                merged[name] = deep_merge(known, value) if isinstance(known, dict) else value
    return EventActions.model_construct(**merged)


def deep_merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`below` with `above` laid over it; dicts under the same key are merged, too. Changes neither."""
    result = dict(below)
    for key, value in above.items():
        known = result.get(key)
        if isinstance(known, dict) and isinstance(value, dict) and known is not value:
            value = deep_merge(known, value)
        result[key] = value
    return result

"""The side effects of an event (contract E5)."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from runtime import types
from runtime._pydantic_models import construct
from runtime.auth.auth_tool import AuthConfig
from runtime.events.tool_confirmation import ToolConfirmation


class EventCompaction(BaseModel):
    """A summary in place of the events between two timestamps, both inclusive (contract R4)."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    start_timestamp: float
    end_timestamp: float
    compacted_content: types.Content


class EventActions(BaseModel):
    """Effects of committing an event, beyond recording it. Unknown fields are an error unless they are null."""

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
    set_model_response: Any | None = None
    route: bool | int | str | list[bool | int | str] | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: Any) -> Any:
        # google-adk has more fields and writes all of them: those without a value must not be an error.
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}

    def asks_person(self) -> bool:
        """Return True if calls wait for a confirmation or a credential of the person (contract T7, T8)."""
        return bool(self.requested_auth_configs or self.requested_tool_confirmations)

    def controls_flow(self) -> bool:
        """Return True if these actions decide what runs next; False if they only record something."""
        return bool(self.transfer_to_agent or self.escalate or self.skip_summarization or self.asks_person())


def merge_actions(actions_in_call_order: Iterable[EventActions]) -> EventActions:
    """Merge the actions of the calls of a step; later calls win (contract T2, Q1).

    The result has only fields set by a call.
    """
    merged: dict[str, Any] = {}
    for actions in actions_in_call_order:
        for name, value in vars(actions).items():
            # The routes 0 and False are routes.
            if value is None or (not value and name != "route"):
                continue
            earlier = merged.get(name)
            if isinstance(earlier, dict):
                value = deep_merge(earlier, value)
            merged[name] = value
    return construct(EventActions, **merged)


def deep_merge(base: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a new dict with the keys of both; `overrides` wins, and nested dicts are merged in the same way."""
    result = dict(base)
    for key, value in overrides.items():
        current = result.get(key)
        if isinstance(current, dict) and isinstance(value, dict) and current is not value:
            value = deep_merge(current, value)
        result[key] = value
    return result

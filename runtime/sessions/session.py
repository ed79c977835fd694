"""Session: one conversation of one user with one app (spec S1)."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime.events.event import Event


class Session(BaseModel):
    """A session as loaded: its merged state and its events, oldest first.

    Attributes:
        last_update_time: seconds since the epoch of the last event, or of the creation.
        last_seq: the order number of the last event this object knows; 0 when the store keeps none.
        invocations: a store that knows the ids of all invocations in `events` gives them here, so that nobody need
            look through a long history for one that is not there.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    id: str
    app_name: str
    user_id: str
    state: dict[str, Any] = Field(default_factory=dict)
    events: list[Event] = Field(default_factory=list)
    last_update_time: float = 0.0
    last_seq: int = Field(default=0, exclude=True, repr=False)
    invocations: Set[str] | None = Field(default=None, exclude=True, repr=False)

    def may_have(self, invocation_id: str) -> bool:
        """Whether there may be events of the invocation."""
        return self.invocations is None or invocation_id in self.invocations


def update_time(event: Event) -> float:
    """The `last_update_time` that an event gives its session: in microseconds, which every store keeps exactly."""
    return round(event.timestamp, 6)

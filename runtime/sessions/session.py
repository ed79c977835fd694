"""Session: a conversation of a user with an app (contract S1)."""

from collections.abc import Set
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime.events.event import Event


class Session(BaseModel):
    """A loaded session: its merged state and its events, oldest first.

    Attributes:
        last_update_time: time of the last event, or of the creation, in seconds since the epoch.
        last_seq: sequence number of the last loaded event; 0 if the store keeps no sequence.
        invocations: ids of all invocations in `events`, if the store provides them. They save a search through a long
            list of events.
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

    def may_contain_invocation(self, invocation_id: str) -> bool:
        """Return False if `events` certainly has no event of the invocation."""
        return self.invocations is None or invocation_id in self.invocations


def update_time(event: Event) -> float:
    """Return the session's `last_update_time` after the event."""
    # Whole microseconds, which all stores keep exactly.
    return round(event.timestamp, 6)

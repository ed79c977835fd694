"""Durations of the calls of a step.

One event answers all calls of a step, so the timestamps of events do not tell how long each call took.
"""

from collections.abc import Mapping

from runtime.events.event import Event

SECONDS_KEY = "adk_call_seconds"
"""Key in `custom_metadata` of a function response event: durations of its calls in seconds, by call id."""


def with_call_seconds(event: Event, seconds: Mapping[str, float]) -> Event:
    """Record the durations of the answered calls, by call id; return the event."""
    rounded = {call_id: round(value, 3) for call_id, value in seconds.items()}
    event.custom_metadata = {**(event.custom_metadata or {}), SECONDS_KEY: rounded}
    return event


def call_seconds(event: Event, call_id: str) -> float | None:
    """Return the duration of an answered call of the event; None if it was not recorded."""
    recorded = (event.custom_metadata or {}).get(SECONDS_KEY)
    if not isinstance(recorded, Mapping):
        return None
    seconds = recorded.get(call_id)
    return float(seconds) if isinstance(seconds, int | float) else None

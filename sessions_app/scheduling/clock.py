"""Current time in the time zone of the user."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone

from runtime.context import ReadonlyContext
from sessions_app.timing import zone_of

TIME_ZONE_KEY = "user:time_zone"


def current_time_instruction(context: ReadonlyContext) -> str:
    """Return a sentence with the current minute for an agent's instruction; a model has no clock."""
    now = now_for(context.state)
    return f"It is {now:%A}, {now.isoformat(timespec='minutes')}, in the time zone {now.tzinfo}."


def now_for(state: Mapping[str, Any], time_zone: str | None = None) -> datetime:
    """Return the time in `time_zone`, or in the zone of `user:time_zone` in the state, or in the site's.

    Raises:
        InvalidInputError: There is no such time zone.
    """
    return timezone.now().astimezone(_zone(state, time_zone))


def _zone(state: Mapping[str, Any], time_zone: str | None) -> ZoneInfo:
    return zone_of(str(time_zone or state.get(TIME_ZONE_KEY) or settings.TIME_ZONE))

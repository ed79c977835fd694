"""Time zone of the user, and the current time in it."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone

from runtime.context import ReadonlyContext
from sessions_app.base.timing import zone_of
from sessions_app.store.shared_state import BROWSER_TIME_ZONE_KEY

TIME_ZONE_KEY = "user:time_zone"


def current_time_instruction(context: ReadonlyContext) -> str:
    """Return a sentence with the current minute for an agent's instruction; a model has no clock."""
    # The clock of this machine is exact enough for a minute, and spares a query for each request of a model.
    now = timezone.now().astimezone(zone_for(context.state))
    return f"It is {now:%A}, {now.isoformat(timespec='minutes')}, in the time zone {now.tzinfo}."


def zone_for(state: Mapping[str, Any], time_zone: str | None = None) -> ZoneInfo:
    """Return the zone `time_zone`, or else of `user:time_zone` in the state, or the browser's, or the site's zone.

    Raises:
        InvalidInputError: There is no such time zone.
    """
    return zone_of(
        str(time_zone or state.get(TIME_ZONE_KEY) or state.get(BROWSER_TIME_ZONE_KEY) or settings.TIME_ZONE)
    )

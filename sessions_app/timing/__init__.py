"""Times as a model or a person writes them, and what repeats: pure arithmetic, no storage."""

from sessions_app.timing.moments import parse_moment, zone_of
from sessions_app.timing.recurrence import Crontab, Interval, Recurrence, parse_recurrence

__all__ = ["Crontab", "Interval", "Recurrence", "parse_moment", "parse_recurrence", "zone_of"]

"""Times and recurrences, parsed from the text of a model or a user. Nothing is stored here."""

from sessions_app.base.timing.moments import in_utc, parse_moment, zone_of
from sessions_app.base.timing.recurrence import Crontab, Interval, Recurrence, parse_recurrence

__all__ = ["Crontab", "Interval", "Recurrence", "in_utc", "parse_moment", "parse_recurrence", "zone_of"]

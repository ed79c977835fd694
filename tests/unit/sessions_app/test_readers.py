"""People as readers: their language and time zone."""

from __future__ import annotations

from zoneinfo import available_timezones

from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.rendering.session_view import Reader


def test_a_reader_reads_in_the_time_zone_of_the_connection_whatever_its_name() -> None:
    for name in available_timezones():
        with timezone.override(name):
            reader = Reader.of(User())
        with reader.reading():
            assert str(timezone.get_current_timezone()) == name

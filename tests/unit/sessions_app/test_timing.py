"""Contract: moments and recurrences follow the local time of a time zone, also across daylight saving changes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from sessions_app.base.timing import parse_moment, parse_recurrence, zone_of
from sessions_app.errors import InvalidInputError

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 14, 0, tzinfo=BERLIN)
TEN_YEARS = timedelta(days=3650)


def berlin(text: str, fold: int = 0) -> datetime:
    """Return the UTC time of a local time in Berlin."""
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).astimezone(UTC)


def following(every: str, start: datetime, count: int, after: datetime | None = None) -> list[datetime]:
    """Return the next occurrences, each computed from the one before."""
    recurrence = parse_recurrence(every, BERLIN)
    occurrences = [after or start]
    while len(occurrences) <= count:
        occurrences.append(recurrence.next_after(occurrences[-1], start))
    return occurrences[1:]


@pytest.mark.parametrize("every", ["1 day", "every day", "0 9 * * *", "1 DAY", "every 1 day"])
def test_a_daily_time_stays_the_same_local_time_across_a_clock_change(every: str) -> None:
    spring = following(every, berlin("2026-03-28T09:00"), 2)
    assert spring == [berlin("2026-03-29T09:00"), berlin("2026-03-30T09:00")]
    assert spring[0] - berlin("2026-03-28T09:00") == timedelta(hours=23)
    autumn = following(every, berlin("2026-10-24T09:00"), 2)
    assert autumn == [berlin("2026-10-25T09:00"), berlin("2026-10-26T09:00")]


def test_an_interval_in_hours_is_elapsed_time_across_a_clock_change() -> None:
    start = berlin("2026-03-28T23:00")
    expected = [start + timedelta(hours=12), start + timedelta(hours=24)]
    assert following("12 hours", start, 2) == expected
    assert following("12 hours", start.astimezone(BERLIN), 2) == expected
    assert parse_moment("in 12 hours", start.astimezone(BERLIN), TEN_YEARS) == expected[0]


@pytest.mark.parametrize("every", ["day", "30 2 * * *"])
def test_a_skipped_local_time_runs_an_hour_later_and_the_next_run_is_on_time(every: str) -> None:
    assert following(every, berlin("2026-03-28T02:30"), 2) == [
        berlin("2026-03-29T03:30"),
        berlin("2026-03-30T02:30"),
    ]


def test_a_skipped_local_time_is_still_due_just_after_the_clock_change() -> None:
    changed = berlin("2026-03-29T03:10")
    for every in ("day", "30 2 * * *"):
        assert following(every, berlin("2026-03-20T02:30"), 1, after=changed) == [berlin("2026-03-29T03:30")]


@pytest.mark.parametrize("every", ["day", "30 2 * * *"])
def test_a_repeated_local_time_runs_once(every: str) -> None:
    start = berlin("2026-10-24T02:30")
    assert following(every, start, 2) == [berlin("2026-10-25T02:30"), berlin("2026-10-26T02:30")]
    between = berlin("2026-10-25T02:10", fold=1)
    assert following(every, start, 1, after=between) == [berlin("2026-10-26T02:30")]


def test_a_crontab_for_weekdays_skips_the_weekend() -> None:
    friday = berlin("2026-11-20T09:00")
    for every in ("0 9 * * 1-5", "0  9 * * MON-FRI"):
        assert following(every, friday, 2) == [berlin("2026-11-23T09:00"), berlin("2026-11-24T09:00")]


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("10 minutes", "2026-11-21T14:10"),
        ("2 weeks", "2026-12-05T09:00"),
        ("0 9 * * *", "2026-11-22T09:00"),
    ],
)
def test_the_next_occurrence_is_in_the_future_however_many_were_missed(every: str, expected: str) -> None:
    start = berlin("2025-11-22T09:00")
    assert following(every, start, 1, after=berlin("2026-11-21T14:00")) == [berlin(expected)]


def test_no_occurrence_is_before_the_start() -> None:
    start = berlin("2026-12-24T18:30")
    for every in ("10 minutes", "day", "0 9 * * *"):
        assert following(every, start, 1, after=NOW) == [start]


def test_a_crontab_uses_the_days_of_its_time_zone() -> None:
    honolulu = ZoneInfo("Pacific/Honolulu")
    recurrence = parse_recurrence("30 0 1,2 * *", honolulu)
    first = datetime(2026, 11, 1, 0, 30, tzinfo=honolulu)
    assert recurrence.next_after(first, first) == datetime(2026, 11, 2, 0, 30, tzinfo=honolulu)


@pytest.mark.parametrize(
    ("every", "words", "shortest"),
    [
        ("minute", "every minute", timedelta(minutes=1)),
        ("90 seconds", "every 90 seconds", timedelta(seconds=90)),
        ("0 9 * * 1-5", "every weekday at 09:00 (Europe/Berlin)", timedelta(days=1)),
        ("0 9,17 * * *", "every day at 09:00 and 17:00 (Europe/Berlin)", timedelta(hours=8)),
        ("30 8 * * sat,sun", "every Sunday and Saturday at 08:30 (Europe/Berlin)", timedelta(days=1)),
        ("0 9 1 * *", "on day 1 of every month at 09:00 (Europe/Berlin)", timedelta(days=28)),
        ("0 9 1-7 * 1", "by the crontab 0 9 1-7 * 1 (Europe/Berlin)", timedelta(days=28)),
        ("0 9 1,15 * *", "on days 1 and 15 of every month at 09:00 (Europe/Berlin)", timedelta(days=14)),
        ("0 9 1 1 *", "every year on 1 January at 09:00 (Europe/Berlin)", timedelta(days=365)),
        ("0 9 * 6,7 1", "every Monday in June and July at 09:00 (Europe/Berlin)", timedelta(days=7)),
        ("*/5 9 * * *", "every 5 minutes from 09:00 to 09:55 (Europe/Berlin)", timedelta(minutes=5)),
        ("*/15 * * * *", "every 15 minutes (Europe/Berlin)", timedelta(minutes=15)),
        ("0 */2 * * *", "every 2 hours (Europe/Berlin)", timedelta(hours=2)),
        (
            "5 9-17 * * 1-5",
            "every weekday, every hour from 09:05 to 17:05 (Europe/Berlin)",
            timedelta(hours=1),
        ),
        ("0,10 8-12 * * *", "by the crontab 0,10 8-12 * * * (Europe/Berlin)", timedelta(minutes=10)),
        ("0 0 29 2 *", "by the crontab 0 0 29 2 * (Europe/Berlin)", timedelta(days=1461)),
    ],
)
def test_a_recurrence_has_words_and_a_shortest_interval(every: str, words: str, shortest: timedelta) -> None:
    recurrence = parse_recurrence(every, BERLIN)
    assert (recurrence.words, recurrence.shortest) == (words, shortest)
    assert parse_recurrence(recurrence.text, BERLIN) == recurrence


def test_a_recurrence_in_the_time_zone_of_its_reader_does_not_name_the_zone() -> None:
    with timezone.override("Europe/Berlin"), translation.override("de"):
        assert parse_recurrence("0 9 * * 1", BERLIN).words == "jeden Montag um 09:00"
        assert parse_recurrence("0 9 1 1 *", BERLIN).words == "jedes Jahr am 1. Januar um 09:00"


@pytest.mark.parametrize(
    ("every", "message"),
    [
        ("fortnight", "a number and a unit"),
        ("0 minutes", "a number and a unit"),
        ("0 9 * * 7", "0-6, Sunday is 0"),
        ("0 0 31 2 *", "never occurs"),
        ("a b c d e", "not a valid crontab"),
    ],
)
def test_an_invalid_recurrence_is_refused_with_a_remedy(every: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_recurrence(every, BERLIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T15:30+01:00", "2026-11-21T15:30"),
        ("2026-11-21T14:30Z", "2026-11-21T15:30"),
        ("in 10 minutes", "2026-11-21T14:10"),
        ("in an hour", "2026-11-21T15:00"),
        (" In 2 days ", "2026-11-23T14:00"),
    ],
)
def test_a_moment_is_parsed(text: str, expected: str) -> None:
    assert parse_moment(text, NOW, TEN_YEARS) == berlin(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-12-01T09:00", "has no offset"),
        ("2026-11-21T13:59+01:00", "is in the past"),
        ("at nine", "not a valid time"),
        ("in 999999 weeks", "too far away"),
        ("9999-12-31T23:59:59-14:00", "too far away"),
        ("", "not a valid time"),
    ],
)
def test_an_invalid_moment_is_refused_with_the_current_time(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{message}.*2026-11-21T14:00:00\\+01:00 now"):
        parse_moment(text, NOW, TEN_YEARS)


@pytest.mark.parametrize(("days", "words"), [(1, "the next 1 day."), (2, "the next 2 days.")])
def test_the_longest_delay_is_told_in_the_right_number(days: int, words: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        parse_moment("in 9 days", NOW, timedelta(days=days))


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "CET "])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="IANA"):
        zone_of(name)

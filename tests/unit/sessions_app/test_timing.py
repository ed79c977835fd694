"""When something is to happen, and how often: by the clocks of a time zone, whatever they do (issue 4, "Jobs")."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from sessions_app.errors import InvalidInputError
from sessions_app.timing import parse_moment, parse_recurrence, zone_of

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 14, 0, tzinfo=BERLIN)


def berlin(text: str, fold: int = 0) -> datetime:
    """What clocks in Berlin show."""
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).astimezone(UTC)


def following(every: str, start: datetime, count: int, after: datetime | None = None) -> list[datetime]:
    """The next occurrences, each asked for at the one before."""
    recurrence = parse_recurrence(every, BERLIN)
    found = [after or start]
    while len(found) <= count:
        found.append(recurrence.next_after(found[-1], start))
    return found[1:]


@pytest.mark.parametrize("every", ["1 day", "every day", "0 9 * * *", "1 DAY", "every 1 day"])
def test_nine_o_clock_stays_nine_o_clock_when_clocks_change(every: str) -> None:
    spring = following(every, berlin("2026-03-28T09:00"), 2)
    assert spring == [berlin("2026-03-29T09:00"), berlin("2026-03-30T09:00")]
    assert spring[0] - berlin("2026-03-28T09:00") == timedelta(hours=23)
    autumn = following(every, berlin("2026-10-24T09:00"), 2)
    assert autumn == [berlin("2026-10-25T09:00"), berlin("2026-10-26T09:00")]


def test_hours_pass_as_they_do_when_clocks_change() -> None:
    start = berlin("2026-03-28T23:00")
    expected = [start + timedelta(hours=12), start + timedelta(hours=24)]
    assert following("12 hours", start, 2) == expected
    assert following("12 hours", start.astimezone(BERLIN), 2) == expected
    assert parse_moment("in 12 hours", start.astimezone(BERLIN)) == expected[0]


@pytest.mark.parametrize("every", ["day", "30 2 * * *"])
def test_a_time_that_clocks_skip_is_made_up_and_does_not_move_those_after_it(every: str) -> None:
    assert following(every, berlin("2026-03-28T02:30"), 2) == [
        berlin("2026-03-29T03:30"),
        berlin("2026-03-30T02:30"),
    ]


def test_a_time_that_clocks_skip_is_still_to_come_just_after_they_were_changed() -> None:
    changed = berlin("2026-03-29T03:10")
    for every in ("day", "30 2 * * *"):
        assert following(every, berlin("2026-03-20T02:30"), 1, after=changed) == [berlin("2026-03-29T03:30")]


@pytest.mark.parametrize("every", ["day", "30 2 * * *"])
def test_a_time_that_clocks_repeat_comes_once(every: str) -> None:
    start = berlin("2026-10-24T02:30")
    assert following(every, start, 2) == [berlin("2026-10-25T02:30"), berlin("2026-10-26T02:30")]
    between = berlin("2026-10-25T02:10", fold=1)
    assert following(every, start, 1, after=between) == [berlin("2026-10-26T02:30")]


def test_weekdays_leave_the_weekend_out() -> None:
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
def test_however_many_were_missed_the_next_is_to_come(every: str, expected: str) -> None:
    start = berlin("2025-11-22T09:00")
    assert following(every, start, 1, after=berlin("2026-11-21T14:00")) == [berlin(expected)]


def test_nothing_comes_before_the_start() -> None:
    start = berlin("2026-12-24T18:30")
    for every in ("10 minutes", "day", "0 9 * * *"):
        assert following(every, start, 1, after=NOW) == [start]


def test_a_crontab_far_from_greenwich_finds_its_days() -> None:
    """The days of a crontab are the zone's, not UTC's."""
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
        ("*/5 9 * * *", "by the crontab */5 9 * * * (Europe/Berlin)", timedelta(minutes=5)),
        ("0 0 29 2 *", "by the crontab 0 0 29 2 * (Europe/Berlin)", timedelta(days=1461)),
    ],
)
def test_it_is_told_in_words_and_knows_its_shortest_time(every: str, words: str, shortest: timedelta) -> None:
    recurrence = parse_recurrence(every, BERLIN)
    assert (recurrence.words, recurrence.shortest) == (words, shortest)
    assert parse_recurrence(recurrence.text, BERLIN) == recurrence


@pytest.mark.parametrize(
    ("every", "told"),
    [
        ("fortnight", "a number and a unit"),
        ("0 minutes", "a number and a unit"),
        ("0 9 * * 7", "0-6, Sunday is 0"),
        ("0 0 31 2 *", "never occurs"),
        ("a b c d e", "not a valid crontab"),
    ],
)
def test_what_is_no_interval_is_refused_with_a_remedy(every: str, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
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
def test_a_moment_is_read(text: str, expected: str) -> None:
    assert parse_moment(text, NOW) == berlin(expected)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-12-01T09:00", "has no offset"),
        ("2026-11-21T13:59+01:00", "is in the past"),
        ("at nine", "not a valid time"),
        ("in 999999 weeks", "not a valid time"),
        ("", "not a valid time"),
    ],
)
def test_a_moment_that_cannot_be_is_refused_with_the_time_that_it_is(text: str, told: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{told}.*2026-11-21T14:00:00\\+01:00 now"):
        parse_moment(text, NOW)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "CET "])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="IANA"):
        zone_of(name)

"""Parse times and repetitions: "every 10 minutes", "every day at 9", "every monday at 9", "in a minute", "3 times"."""

from __future__ import annotations

import re

_NUMBERS = "a an one two three four five six seven eight nine ten".split()
_COUNT = rf"(\d+|{'|'.join(_NUMBERS)})"
_UNIT = r"(second|minute|hour|day|week)s?"
_EVERY = re.compile(rf"\bevery\s+(?:{_COUNT}\s+)?{_UNIT}\b", re.IGNORECASE)
_EVERY_DAY_AT = re.compile(
    r"\bevery\s+(week)?day\s+at\s+(\d{1,2})(?::(\d\d))?(?:\s*o'clock)?\b", re.IGNORECASE
)
_WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday".split()
_EVERY_WEEKDAY_AT = re.compile(
    rf"\bevery\s+({'|'.join(_WEEKDAYS)})\s+at\s+(\d{{1,2}})(?::(\d\d))?(?:\s*o'clock)?\b", re.IGNORECASE
)
_IN = re.compile(rf"\bin\s+{_COUNT}\s+{_UNIT}\b", re.IGNORECASE)
_TIMES = re.compile(rf"\b{_COUNT}\s+times\b", re.IGNORECASE)
_PHRASES = (_EVERY_DAY_AT, _EVERY_WEEKDAY_AT, _EVERY, _IN, _TIMES)

START_PARAMETERS = {"every", "run_at"}
"""Names of parameters that take a start time."""
TASK_PARAMETER = "task"
"""Name of the parameter that takes the instruction of a scheduled task."""
TIME_PARAMETERS = START_PARAMETERS | {"most_runs", "ends_at", "time_zone"}


def has_start_time(words: str) -> bool:
    """True when the words name a later or repeated start."""
    return any(phrase.search(words) for phrase in (_EVERY_DAY_AT, _EVERY_WEEKDAY_AT, _EVERY, _IN))


def time_argument(name: str, words: str) -> str | int | None:
    """Return the value of one of `TIME_PARAMETERS`, or None when the words do not contain one."""
    if name == "every" and (found := _EVERY_DAY_AT.search(words)):
        return f"{int(found[3] or 0)} {int(found[2])} * * {'1-5' if found[1] else '*'}"
    if name == "every" and (found := _EVERY_WEEKDAY_AT.search(words)):
        return f"{int(found[3] or 0)} {int(found[2])} * * {_WEEKDAYS.index(found[1].lower())}"
    if name == "every" and (found := _EVERY.search(words)):
        return f"{_number(found[1] or 'a')} {found[2].lower()}s"
    if name == "run_at" and (found := _IN.search(words)):
        return f"in {_number(found[1])} {found[2].lower()}s"
    if name == "most_runs" and (found := _TIMES.search(words)):
        return _number(found[1])
    return None


def without_times(words: str) -> str:
    """Return the words without their phrases about time."""
    for phrase in _PHRASES:
        words = phrase.sub("", words)
    return " ".join(words.split()).strip(" ,:")


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else max(1, _NUMBERS.index(word.lower()) - 1)

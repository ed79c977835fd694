"""Contract: neither tracebacks of library code nor lines about each sweep fill the log."""

import logging

import pytest

from adk_site.short_logs import NoTraceback, OneLine, OwnFramesFirst, QuietSweeps
from runtime.errors import ConfigurationError
from runtime.models import LLMRegistry


def test_an_exception_becomes_one_line() -> None:
    record = failure_record()
    assert OneLine().filter(record)
    assert logging.Formatter().format(record) == "Not read: Redis is away"


def test_a_traceback_is_removed() -> None:
    record = failure_record()
    assert NoTraceback().filter(record)
    assert logging.Formatter().format(record) == "Not read"


@pytest.mark.parametrize(
    ("task", "level", "is_shown"),
    [
        ("sessions_app.sweep", logging.INFO, False),
        ("sessions_app.sweep", logging.ERROR, True),
        ("sessions_app.housekeeping", logging.INFO, True),
    ],
)
def test_lines_about_sweeps_are_shown_only_when_one_failed(task: str, level: int, is_shown: bool) -> None:
    record = logging.LogRecord("celery.app.trace", level, "", 0, "Task %s succeeded", (task,), None)
    logging.getLogger("celery.app.trace").setLevel(logging.INFO)
    assert QuietSweeps().filter(record) is is_shown


def test_the_frames_of_an_agent_stand_above_those_of_the_engine() -> None:
    record = failure_record()
    try:
        LLMRegistry.new_llm("no-such-model")
    except ConfigurationError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    own, _, whole = OwnFramesFirst().format(record).partition("Traceback (most recent call last):")
    assert f'File "{__file__}"' in own and "runtime/models/" not in own
    assert "ConfigurationError: Model 'no-such-model' not found" in own
    assert f'File "{__file__}"' in whole and "runtime/models/" in whole


def failure_record() -> logging.LogRecord:
    record = logging.LogRecord("layer", logging.ERROR, "", 0, "Not %s", ("read",), None)
    try:
        raise ConnectionError("Redis is away")
    except ConnectionError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    return record

"""Contract: no tracebacks of library code fill the log while Redis is away or a worker stops."""

import logging

from adk_site.short_logs import NoTraceback, OneLine


def test_an_exception_becomes_one_line() -> None:
    record = failure_record()
    assert OneLine().filter(record)
    assert logging.Formatter().format(record) == "Not read: Redis is away"


def test_a_traceback_is_removed() -> None:
    record = failure_record()
    assert NoTraceback().filter(record)
    assert logging.Formatter().format(record) == "Not read"


def failure_record() -> logging.LogRecord:
    record = logging.LogRecord("layer", logging.ERROR, "", 0, "Not %s", ("read",), None)
    try:
        raise ConnectionError("Redis is away")
    except ConnectionError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    return record

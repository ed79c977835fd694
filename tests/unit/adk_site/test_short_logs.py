"""Contract: while Redis is away, the log has one line a second of the channel layer, and no traceback."""

import logging

from adk_site.short_logs import OneLine


def test_an_exception_becomes_one_line() -> None:
    record = logging.LogRecord("layer", logging.ERROR, "", 0, "Not %s", ("read",), None)
    try:
        raise ConnectionError("Redis is away")
    except ConnectionError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    assert OneLine().filter(record)
    assert logging.Formatter().format(record) == "Not read: Redis is away"

"""Log filters for libraries that log a traceback of their own code where one line is enough."""

from __future__ import annotations

import logging


class OneLine(logging.Filter):
    """Puts the exception's text into the message, in place of the traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = "%s: %s", (record.getMessage(), record.exc_info[1])
            record.exc_info = None
        return True


class NoTraceback(logging.Filter):
    """Removes the traceback from a record whose message names the exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True

"""Log filters for libraries that log more than is worth reading."""

from __future__ import annotations

import logging


class OneLine(logging.Filter):
    """Puts the exception's text into the message, in place of the traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = "%s: %s", (record.getMessage(), record.exc_info[1])
            record.exc_info = None
        return True


class QuietSweeps(logging.Filter):
    """Lowers lines about sweeps, which come every five seconds, from INFO to DEBUG."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.INFO or "sessions_app.sweep" not in record.getMessage():
            return True
        record.levelno = logging.DEBUG
        record.levelname = "DEBUG"
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


class NoTraceback(logging.Filter):
    """Removes the traceback from a record whose message names the exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True

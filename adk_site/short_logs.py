"""Log filters for libraries that log too much."""

from __future__ import annotations

import logging


class OneLine(logging.Filter):
    """Replace the traceback by the exception's text."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            message = record.getMessage()
            record.msg = "%s: %s"
            record.args = (message, record.exc_info[1])
            record.exc_info = None
        return True


class QuietSweeps(logging.Filter):
    """Lower messages about sweeps, which run every five seconds, from INFO to DEBUG."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.INFO or "sessions_app.sweep" not in record.getMessage():
            return True
        record.levelno = logging.DEBUG
        record.levelname = "DEBUG"
        # The logger's own level has been checked for INFO only.
        return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


class NoTraceback(logging.Filter):
    """Remove the traceback from a record whose message names the exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True

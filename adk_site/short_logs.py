"""Log filter for libraries that log a traceback each second while a server is away."""

from __future__ import annotations

import logging


class OneLine(logging.Filter):
    """Puts the exception's text into the message, in place of the traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = "%s: %s", (record.getMessage(), record.exc_info[1])
            record.exc_info = None
        return True

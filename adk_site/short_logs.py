"""Log filters for libraries that log too much, and a formatter for the authors of agents."""

import logging
import traceback
from types import TracebackType

from sessions_app.secrets.error_detail import is_own_code
from sessions_app.secrets.masking import MaskingFormatter

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


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


class OwnFramesFirst(MaskingFormatter):
    """Formatter that repeats an agent's own frames above the traceback, which has most of its lines in the engine."""

    def formatException(self, ei: ExcInfo) -> str:
        """Return the traceback, with the frames and the exception's text above it."""
        whole = super().formatException(ei)
        own = [frame for frame in traceback.extract_tb(ei[2]) if is_own_code(frame.filename)]
        if not own:
            return whole
        frames = "".join(traceback.format_list(own))
        reason = "".join(traceback.format_exception_only(ei[1]))
        return f"In your code:\n{frames}{reason}\n{whole}"

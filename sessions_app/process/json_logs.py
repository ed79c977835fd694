"""Logs as JSON: an object in each line, masked.

A line has the fields of `extra`, and the id of the invocation in whose context it was logged: an operator finds all
lines of an invocation by `invocation_id`, including lines logged by the agent's own code.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from sessions_app.secrets.masking import mask_text, masking

_invocation_id: ContextVar[str] = ContextVar("invocation id", default="")
_OF_EACH_RECORD = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"})
_IDS = frozenset({"invocation_id", "session_id", "job_id", "task_id", "status"})
"""Fields with values of the site. They are not masked: masking takes most of the time of a line."""


@contextmanager
def logs_of_invocation(invocation_id: str) -> Iterator[None]:
    """Add the invocation's id to the lines logged in this block."""
    token = _invocation_id.set(invocation_id)
    try:
        yield
    finally:
        _invocation_id.reset(token)


def current_invocation_id() -> str:
    """Return the id of the invocation that runs in this context, also within agents as tools; empty outside of one."""
    return _invocation_id.get()


class JsonFormatter(logging.Formatter):
    """Formatter of JSON objects: time, level, logger, message, exception, invocation, and the fields of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        with masking():
            line["message"] = mask_text(record.getMessage())
            if record.exc_info:
                line["exception"] = mask_text(self.formatException(record.exc_info))
            if _invocation_id.get():
                line["invocation_id"] = _invocation_id.get()
            for name, value in record.__dict__.items():
                if name not in _OF_EACH_RECORD:
                    line[name] = _field(name, value)
        return json.dumps(line)


def _field(name: str, value: object) -> str | float | bool | None:
    """Return a value of `extra`, such as the request in the lines of Django, as a value of JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value) if name in _IDS else mask_text(str(value))

"""Logs as JSON, one object a line, masked, with the invocation that a line is about."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from sessions_app.secrets.masking import mask_text, masking

_invocation_id: ContextVar[str] = ContextVar("invocation id", default="")


@contextmanager
def logs_of_invocation(invocation_id: str) -> Iterator[None]:
    """Name the invocation in the lines that are logged in this block."""
    token = _invocation_id.set(invocation_id)
    try:
        yield
    finally:
        _invocation_id.reset(token)


class JsonFormatter(logging.Formatter):
    """Formatter of one JSON object: time, level, logger, message, exception, invocation."""

    def format(self, record: logging.LogRecord) -> str:
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
            "invocation_id": _invocation_id.get(),
        }
        with masking():
            shown = {name: mask_text(value) for name, value in values.items() if value}
        return json.dumps(shown)

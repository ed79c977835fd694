"""Attempts of a model call that failed and were followed by another one, kept for the record of the call."""

from __future__ import annotations

from contextvars import ContextVar

_collected: ContextVar[list[str] | None] = ContextVar("failed attempts", default=None)


def collect_failed_attempts() -> list[str]:
    """Return a list that gets the errors of failed attempts in this context, until the next call of this function."""
    attempts: list[str] = []
    _collected.set(attempts)
    return attempts


def note_failed_attempt(error: Exception) -> None:
    """Add the error of an attempt that another one follows; does nothing when nobody collects."""
    attempts = _collected.get()
    if attempts is not None:
        attempts.append(str(error))

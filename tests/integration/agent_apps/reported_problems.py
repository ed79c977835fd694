"""Problems of the agents and their settings, as Django's system check reports them."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.checks import CheckMessage, run_checks

WORDS_ONLY = "sessions_app.I001"


def messages(tags: Sequence[str] | None = None) -> list[CheckMessage]:
    """Return the messages, without the note on memory: the demo's help desk recalls, and the site has no vectors."""
    return [message for message in run_checks(tags=tags) if message.id != WORDS_ONLY]


def problems() -> list[str]:
    """Return id and sentence of each problem."""
    return [f"{message.id} {message.msg}" for message in messages(tags=["agents"])]

"""Problems of the agents and their settings, as Django's system check reports them."""

from __future__ import annotations

from django.core.checks import run_checks


def problems() -> list[str]:
    """Return id and sentence of each problem."""
    return [f"{message.id} {message.msg}" for message in run_checks(tags=["agents"])]

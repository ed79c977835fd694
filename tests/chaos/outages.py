"""Check of PostgreSQL's outages: when one is over, every process uses PostgreSQL again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sessions_app.models import Invocation, ToolJob
from tests.chaos.processes import Outage

RECONNECTION = timedelta(seconds=5)
"""Time after an outage in which work that began during the outage may fail."""
ERRORS = ("OperationalError", "InterfaceError")


def check_outages(outages: Iterable[Outage]) -> list[str]:
    """Check that no invocation and no job failed because of PostgreSQL while PostgreSQL was there."""
    times = [(outage.begins_at, outage.ends_at + RECONNECTION) for outage in outages]
    failed: list[Invocation | ToolJob] = [
        *Invocation.objects.filter(status="failed"),
        *ToolJob.objects.filter(status="failed"),
    ]
    return [
        f"{row} failed at {row.finished_at:%T} as if PostgreSQL were away: {row.error_detail[-200:]}"
        for row in failed
        if any(error in row.error_detail for error in ERRORS) and not _is_within(row.finished_at, times)
    ]


def _is_within(moment: datetime | None, times: list[tuple[datetime, datetime]]) -> bool:
    return moment is not None and any(begins_at <= moment <= ends_at for begins_at, ends_at in times)

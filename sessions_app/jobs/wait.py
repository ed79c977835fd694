"""Waits of workflows: a wait is a job that begins when it is over, so no process waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from runtime import _platform
from runtime.context import Context
from runtime.errors import ConfigurationError
from sessions_app.conf import conf
from sessions_app.jobs.staging import stage_call
from sessions_app.jobs.tool import job_tool


@job_tool
def end_wait(until: str) -> dict[str, str]:
    """End a wait."""
    return {"until": until}


def stage_wait(node_name: str, context: Context, until: datetime) -> dict[str, Any]:
    """Stage the job that ends a wait, and return the pending response; see `RunConfig.stage_wait`.

    Raises:
        ConfigurationError: the wait is longer than a job may be delayed.
    """
    longest = timedelta(seconds=conf().schedule_longest_seconds)
    if until - datetime.fromtimestamp(_platform.now(), UTC) > longest:
        raise ConfigurationError(
            f"Node {node_name!r} waits until {until:%Y-%m-%d}, and schedule_longest_seconds allows {longest.days} "
            "days. Let it wait for a shorter time."
        )
    return stage_call(node_name, end_wait.task_name, {"until": until.isoformat()}, context, until)

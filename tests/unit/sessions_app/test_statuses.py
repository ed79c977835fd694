"""Contract: `open`, `active` and `ended` name the same sets of statuses in Python, SQL and JavaScript."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import sessions_app
from sessions_app.base.statuses import InvocationStatus, JobStatus, sql_list

SCRIPT = Path(sessions_app.__file__).parent / "static/sessions_app/chat/invocations.js"


@pytest.mark.parametrize("statuses", [InvocationStatus, JobStatus])
def test_a_status_is_either_open_or_ended_and_an_active_one_is_open(
    statuses: type[InvocationStatus] | type[JobStatus],
) -> None:
    assert {*statuses.open(), *statuses.ended()} == set(statuses)
    assert not {*statuses.open()} & {*statuses.ended()}
    assert {*statuses.active()} < {*statuses.open()}


def test_sql_gets_the_statuses_as_literals() -> None:
    assert sql_list(JobStatus.active()) == "('queued', 'running')"


@pytest.mark.parametrize(
    ("name", "statuses"), [("ACTIVE", InvocationStatus.active()), ("ENDED", InvocationStatus.ended())]
)
def test_the_chat_page_uses_the_same_sets(name: str, statuses: tuple[InvocationStatus, ...]) -> None:
    found = re.search(rf"const {name} = new Set\((\[.*?\])\)", SCRIPT.read_text())
    assert found is not None
    assert json.loads(found[1]) == list(statuses)

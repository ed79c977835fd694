"""Contract: a real Celery worker runs cases side by side, and one that dies in a case does not lose the case."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django.fixtures import Settings

from sessions_app.contrib.evaluation.repairs import evaluation_repairs
from sessions_app.models import CaseStatus, EvaluatedCase
from sessions_app.process import threads
from sessions_app.process.sweeping import sweep_over
from sessions_app.shutdown import shut_down
from tests.served_agents import Served
from tests.stack.limited.agents import app
from tests.stack.limited.worker import limited_worker

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("celery", "sweeps")]


@pytest.fixture(scope="module")
def celery(django_db_setup: None) -> Iterator[None]:
    with limited_worker():
        yield


@pytest.fixture
def sweeps(transactional_db: None, settings: Settings) -> Iterator[None]:
    """Sweep every second, as a site does every five, once the cases that meet have ended.

    On a busy machine these would be lost, too: their heartbeats come every five seconds, or later.
    """
    settings.ADK = {"job_lost_seconds": 7.0}
    has_ended = threading.Event()
    met = EvaluatedCase.objects.filter(eval_id__in=["left", "right"]).exclude(status__in=CaseStatus.active())

    def sweep() -> None:
        while not has_ended.wait(1.0):
            if met.count() == 2:
                sweep_over(evaluation_repairs())
        connection.close()

    thread = threading.Thread(target=sweep)
    thread.start()
    yield
    has_ended.set()
    thread.join()
    threads.run(shut_down())


def test_cases_run_side_by_side_and_that_of_a_killed_process_is_done_again(
    tmp_path: Path, served: Served
) -> None:
    served(app)
    messages = {
        "left": f"meet {tmp_path}/met",
        "right": f"meet {tmp_path}/met",
        "fatal": f"die_once {tmp_path}/died",
    }
    cases = [
        {
            "eval_id": key,
            "conversation": [
                {
                    "user_content": {"role": "user", "parts": [{"text": text}]},
                    "final_response": {"role": "model", "parts": [{"text": "done: nothing"}]},
                }
            ],
        }
        for key, text in messages.items()
    ]
    path = tmp_path / "side.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "side", "eval_cases": cases}))
    (tmp_path / "test_config.json").write_text('{"criteria": {"response_match_score": 1.0}}')
    out = StringIO()
    call_command("adk_eval", "limited", str(path), stdout=out)
    assert "3 cases: 3 passed." in out.getvalue()
    assert dict(EvaluatedCase.objects.values_list("eval_id", "attempts")) == {
        "left": 1,
        "right": 1,
        "fatal": 2,
    }
    assert (tmp_path / "died").read_text() == "started\n" * 2

"""Contract: eval sets are written from adk-web whole or not at all, by staff with the right, in development only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.evaluation.agent_evaluator import AgentEvaluator
from runtime.evaluation.json_files import load_eval_set
from sessions_app.contrib.evaluation import adk_writes, set_files, sources, start
from sessions_app.models import EvaluatedCase, Evaluation, Remit, Session
from tests.fakes import ScriptedModel
from tests.integration.access import APP
from tests.integration.admin.audit_rows import append_event, sign_in
from tests.integration.contrib.evaluation.workers import run_case
from tests.served_agents import Served

pytestmark = pytest.mark.django_db(transaction=True)
DEV = f"/adk/dev/apps/{APP}"
CASE = {
    "evalId": "hi",
    "conversation": [
        {
            "userContent": {"role": "user", "parts": [{"text": "Hi"}]},
            "finalResponse": {"role": "model", "parts": [{"text": "Hi"}]},
        }
    ],
}
METRICS = {"evalMetrics": [{"metricName": "response_match_score", "threshold": 0.5}]}
BAD_IDS: tuple[Any, ...] = (
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "a\0b",
    "a b",
    "ä",
    "x" * 201,
    "-",
    "\n",
    "a\n",
    None,
    5,
    {},
)
AGENT = """
from runtime.agents import LlmAgent
from tests.fakes import ScriptedModel

root_agent = LlmAgent(name="written_agent", model=ScriptedModel(rule=lambda request: "Hi"))
"""
WRITER = """
import sys
from pathlib import Path
import django
django.setup()
from runtime.evaluation.eval_case import EvalCase
from sessions_app.contrib.evaluation import set_files
set_files.directory_of = lambda name: Path(sys.argv[1])
while True:
    with set_files.changed_set("any", "kept") as found:
        found.eval_cases[0].conversation[0].final_response.parts[0].text = "x" * 4_000_000
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]) -> Path:
    """The directory of the agents, on a site in development."""
    configure(reload_agents=True)
    for module in (set_files, sources):
        monkeypatch.setattr(module, "directory_of", lambda name: tmp_path)
    return tmp_path


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, "evaluation", rights=("view_text", "run_evaluation"))


def send(client: Client, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request; return the status and the JSON."""
    response = client.generic(method, f"{DEV}{path}", json.dumps(body), content_type="application/json")
    return response.status_code, json.loads(response.content)


def create(client: Client, set_id: Any = "kept") -> int:
    return send(client, "POST", "/eval-sets", {"eval_set": {"eval_set_id": set_id}})[0]


def written(folder: Path, set_id: str = "kept") -> list[str]:
    """Return the ids of the cases in the file."""
    found = load_eval_set(folder / f"{set_id}.evalset.json", may_be_empty=True)
    return [case.eval_id for case in found.eval_cases]


def conversation_of(name: str) -> Session:
    """Store a conversation of a user with a secret in a call."""
    session = Session.objects.create(app_name=APP, user=User.objects.get(username=name), key="s-1")
    append_event(session, {"text": "Hi"}, author="user")
    append_event(session, {"functionCall": {"id": "c-1", "name": "pay", "args": {"password": "geheim"}}})
    append_event(session, {"functionResponse": {"id": "c-1", "name": "pay", "response": {"paid": 5}}})
    append_event(session, {"text": "Hi"})
    return session


def added(eval_id: str, user: str = "staff") -> dict[str, str]:
    return {"evalId": eval_id, "sessionId": "s-1", "userId": user}


def test_a_conversation_becomes_a_case_that_is_edited_run_and_deleted(
    staff: Client, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(rule=lambda request: "Hi")
    served(App(name=APP, root_agent=LlmAgent(name=APP, model=model)))
    assert create(staff) == 200
    conversation_of("staff")
    assert send(staff, "POST", "/eval_sets/kept/add_session", added("hi"))[0] == 200
    text = (folder / "kept.evalset.json").read_text()
    assert '"pay"' in text and "geheim" not in text
    assert send(staff, "PUT", "/eval_sets/kept/evals/hi", CASE)[0] == 200
    assert send(staff, "GET", "/eval_sets/kept/evals/hi")[1]["conversation"][0]["userContent"]["parts"]
    monkeypatch.setattr(start, "send_case", run_case)
    status, outcome = send(staff, "POST", "/eval-sets/kept/run", {**METRICS, "evalCaseIds": ["hi"]})
    (result,) = outcome["runEvalResults"]
    assert (status, result["evalId"], result["finalEvalStatus"]) == (200, "hi", 1), result
    assert send(staff, "DELETE", "/eval_sets/kept/evals/hi")[0] == 200
    assert written(folder) == []
    assert send(staff, "DELETE", "/eval-sets/kept")[0] == 200
    assert list(folder.iterdir()) == []
    assert send(staff, "GET", "/eval_sets/kept/evals")[1] == ["hi"]  # of the evaluation, which is kept


async def test_a_written_set_runs_as_a_test(
    staff: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sync_to_async(create)(staff)
    await sync_to_async(conversation_of)("staff")
    await sync_to_async(send)(staff, "POST", "/eval_sets/kept/add_session", added("hi"))
    assert (await sync_to_async(send)(staff, "PUT", "/eval_sets/kept/evals/hi", CASE))[0] == 200
    (folder / "written_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(folder)
    await AgentEvaluator.evaluate("written_agent", folder, num_runs=1)
    model = sys.modules.pop("written_agent").root_agent.model
    assert [request.contents[-1].parts[0].text for request in model.requests] == ["Hi"]


def test_only_conversations_of_the_caller_become_cases(staff: Client, folder: Path, person: User) -> None:
    create(staff)
    conversation_of("ada")
    for user in ("ada", "staff", str(person.pk)):
        assert send(staff, "POST", "/eval_sets/kept/add_session", added("hi", user))[0] == 404
    Session.objects.create(app_name=APP, user=User.objects.get(username="staff"), key="s-1")
    status, refusal = send(staff, "POST", "/eval_sets/kept/add_session", added("hi"))
    assert (status, refusal["detail"]) == (400, "The conversation has no message yet.")
    assert written(folder) == []


def addresses() -> list[tuple[str, str, Any]]:
    return [
        ("POST", "/eval-sets", {"eval_set": {"eval_set_id": "new"}}),
        ("DELETE", "/eval-sets/kept", None),
        ("POST", "/eval_sets/kept/add_session", added("new")),
        ("PUT", "/eval_sets/kept/evals/hi", CASE),
        ("DELETE", "/eval_sets/kept/evals/hi", None),
    ]


def keep(folder: Path) -> bytes:
    """Write a set by hand; return the content of its file."""
    path = folder / "kept.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "kept", "eval_cases": [CASE]}))
    return path.read_bytes()


def test_each_write_needs_the_right(client: Client, folder: Path) -> None:
    before = keep(folder)
    sign_in(client, "evaluation", rights=("view_text", "cancel_evaluation"))
    conversation_of("staff")
    run = ("POST", "/eval-sets/kept/run", METRICS)
    assert {send(client, *address)[0] for address in [*addresses(), run]} == {403}
    assert [path.name for path in folder.iterdir()] == ["kept.evalset.json"]
    assert (folder / "kept.evalset.json").read_bytes() == before
    assert not Evaluation.objects.exists()


def test_without_development_nothing_is_written(
    staff: Client, folder: Path, configure: Callable[..., None]
) -> None:
    before = keep(folder)
    conversation_of("staff")
    configure(reload_agents=False)
    answers = [send(staff, *address) for address in addresses()]
    assert {status for status, _ in answers} == {403}
    assert "in development only" in answers[0][1]["detail"]
    assert [path.name for path in folder.iterdir()] == ["kept.evalset.json"]
    assert (folder / "kept.evalset.json").read_bytes() == before


def test_staff_write_for_the_apps_of_their_remits(staff: Client, folder: Path) -> None:
    group = Group.objects.create(name="Clerks")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="elsewhere")
    assert create(staff) == 404
    assert list(folder.iterdir()) == []


def test_a_browser_without_the_csrf_token_writes_nothing(staff: Client, folder: Path) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = staff.cookies
    assert create(browser) == 403
    assert list(folder.iterdir()) == []


def test_an_id_that_is_no_name_of_a_file_is_refused(staff: Client, folder: Path) -> None:
    assert {create(staff, set_id) for set_id in BAD_IDS} == {400, 422}
    assert list(folder.iterdir()) == []
    assert create(staff, "items") == 200  # a usual word
    for name in ("..%2Fitems", "..", "a%00", "items.evalset.json"):
        assert send(staff, "DELETE", f"/eval-sets/{name}")[0] in (400, 404)
    assert written(folder, "items") == []


def test_a_case_that_cannot_be_run_changes_nothing(staff: Client, folder: Path) -> None:
    before = keep(folder)
    for change, expected in (
        ({"conversation": []}, 400),
        ({"conversation": None}, 422),
        ({"conversation": [{"answer": 1}]}, 422),
    ):
        assert send(staff, "PUT", "/eval_sets/kept/evals/hi", {**CASE, **change})[0] == expected, change
    conversation_of("staff")
    for eval_id in ("", "x" * 201, "a\0b"):
        assert send(staff, "POST", "/eval_sets/kept/add_session", added(eval_id))[0] == 400
    assert (folder / "kept.evalset.json").read_bytes() == before


def test_half_a_surrogate_in_an_argument_is_stored_as_it_can_be(staff: Client, folder: Path) -> None:
    keep(folder)
    odd = {"toolUses": [{"name": "pay", "args": {"a\ud800": "\udfff\0"}}]}
    case = {**CASE, "conversation": [{**CASE["conversation"][0], "intermediateData": odd}]}  # type: ignore[dict-item]
    assert send(staff, "PUT", "/eval_sets/kept/evals/hi", case)[0] in (200, 422)
    assert written(folder) == ["hi"]


def test_a_set_does_not_grow_without_limit(
    staff: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keep(folder)
    assert send(staff, "PUT", "/eval_sets/kept/evals/hi", {**CASE, "note": "x" * 10_000_000})[0] == 413
    monkeypatch.setattr(set_files, "MAX_BYTES", len(before) + 100)
    status, refusal = send(staff, "PUT", "/eval_sets/kept/evals/hi", {**CASE, "note": "x" * 200})
    assert (status, refusal["code"]) == (413, "too_large")
    assert (folder / "kept.evalset.json").read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_told_so(staff: Client, folder: Path) -> None:
    folder.chmod(0o500)
    status, refusal = send(staff, "POST", "/eval-sets", {"eval_set": {"eval_set_id": "kept"}})
    assert status == 409 and "Permission denied" in refusal["detail"]


def test_a_directory_that_is_gone_is_told_so(
    staff: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_files, "directory_of", lambda name: folder / "gone")
    status, refusal = send(staff, "POST", "/eval-sets", {"eval_set": {"eval_set_id": "kept"}})
    assert status == 409 and "No such file or directory" in refusal["detail"]
    monkeypatch.setattr(set_files, "directory_of", lambda name: None)
    assert create(staff) == 403


def test_writers_at_once_lose_nothing(staff: Client, folder: Path) -> None:
    create(staff)
    conversation_of("staff")
    ids = [f"case_{number}" for number in range(24)]

    def add(eval_id: str) -> int:
        browser = Client()
        browser.cookies = staff.cookies
        try:
            return send(browser, "POST", "/eval_sets/kept/add_session", added(eval_id))[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(add, ids)) == {200}
        assert sorted(pool.map(add, ["same"] * 6)) == [200, 400, 400, 400, 400, 400]
        assert sorted(pool.map(lambda _: create(staff, "one"), range(6))) == [200, 400, 400, 400, 400, 400]
    assert sorted(written(folder)) == sorted([*ids, "same"])


def test_a_writer_that_is_killed_leaves_a_whole_set(staff: Client, folder: Path) -> None:
    keep(folder)
    unfinished = folder / ".evalset.tmp"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "adk_site.settings",
        "ADK_DEV": "1",
        "PYTHONPATH": os.getcwd(),
    }
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], env=environment)
    try:
        end = time.monotonic() + 120
        while not (unfinished.exists() and unfinished.stat().st_size > 0):
            assert writer.poll() is None and time.monotonic() < end
    finally:
        writer.kill()
        writer.wait()
    assert written(folder) == ["hi"]
    assert send(staff, "DELETE", "/eval_sets/kept/evals/hi")[0] == 200
    assert written(folder) == [] and not unfinished.exists()


def test_a_run_names_what_is_wrong(staff: Client, folder: Path) -> None:
    keep(folder)
    create(staff, "empty")
    for set_id, body, words in (
        ("empty", METRICS, "a set has 1 to 1000 cases, not 0"),
        ("kept", {**METRICS, "evalCaseIds": ["none"]}, "a set has 1 to 1000 cases, not 0"),
        ("kept", {"evalMetrics": []}, "Give at least one of the criteria"),
        ("kept", {"evalMetrics": [{"metricName": "os.system", "threshold": 1}]}, "there is no such metric"),
        ("kept", {"evalMetrics": [{"metricName": "response_match_score"}]}, "criteria.response_match_score"),
        ("kept", {**METRICS, "userSimulatorConfig": {"type": "llm_audio"}}, "userSimulatorConfig.type"),
    ):
        status, refusal = send(staff, "POST", f"/eval-sets/{set_id}/run", body)
        assert status == 400 and words in refusal["detail"], refusal
    assert not Evaluation.objects.exists()


def test_a_run_that_takes_long_is_answered_with_what_there_is(
    staff: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(folder)
    monkeypatch.setattr(start, "send_case", lambda case_id: None)
    monkeypatch.setattr(adk_writes, "MAX_LOOKS", 1)
    status, outcome = send(staff, "POST", "/eval-sets/kept/run", METRICS)
    assert (status, outcome["runEvalResults"][0]["finalEvalStatus"]) == (200, 3)
    assert EvaluatedCase.objects.get().status == "queued"


def test_the_metrics_to_choose_are_those_of_the_site(staff: Client, folder: Path) -> None:
    status, listed = send(staff, "GET", "/metrics-info")
    names = [metric["metricName"] for metric in listed["metricsInfo"]]
    assert status == 200 and "response_match_score" in names and len(names) == 11
    assert all(metric["description"] for metric in listed["metricsInfo"])

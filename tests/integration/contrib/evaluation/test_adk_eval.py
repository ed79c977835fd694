"""`manage.py adk_eval`: sets in files and labelled conversations, the table, the exit code, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from runtime.evaluation.eval_case import EvalCase, SessionInput
from sessions_app.contrib.evaluation import sources, start
from sessions_app.contrib.evaluation.management.commands import adk_eval
from sessions_app.models import Annotation, Evaluation, Session
from tests.fakes import ScriptedModel
from tests.integration.admin.audit_rows import append_event
from tests.integration.contrib.evaluation.workers import case_of, run_case

pytestmark = pytest.mark.django_db(transaction=True)
RIGHT = case_of("lamp", "price?", "It costs 20 EUR", "price")
WRONG = case_of("words", "Hello", "Something else")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, model: ScriptedModel) -> Iterator[None]:
    """Threads that run the cases as soon as they are sent."""

    def work(case_id: int) -> None:
        run_case(case_id)
        connection.close()

    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(start, "send_case", lambda case_id: pool.submit(work, case_id))
        yield


def write_set(folder: Path, *cases: EvalCase, name: str = "prices") -> Path:
    path = folder / f"{name}.evalset.json"
    values = [case.model_dump(mode="json", exclude_none=True) for case in cases]
    path.write_text(json.dumps({"eval_set_id": name, "eval_cases": values}))
    return path


def evaluate(*arguments: Any) -> str:
    """Return the lines that the command writes."""
    out = StringIO()
    call_command("adk_eval", "shop", *map(str, arguments), stdout=out)
    return out.getvalue()


def failed(*arguments: Any) -> tuple[str, str]:
    """Return the lines, and the error with which the command exits."""
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("adk_eval", *map(str, arguments), stdout=out)
    assert caught.value.returncode == 1
    return out.getvalue(), str(caught.value)


def mark(session: Session, label: str = "prices") -> None:
    append_event(session, {"text": "price?"}, author="user")
    append_event(session, {"functionCall": {"id": "c-1", "name": "price", "args": {}}})
    append_event(session, {"functionResponse": {"id": "c-1", "name": "price", "response": {"price": 20}}})
    append_event(session, {"text": "It costs 20 EUR"})
    Annotation.objects.create(session=session, label=label, by_name="root")


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="shop", user=person, key="s-1")


def test_a_set_whose_cases_pass_is_a_table_with_a_summary(workers: None, tmp_path: Path) -> None:
    path = write_set(tmp_path, RIGHT)
    lines = evaluate(path).splitlines()
    assert lines[0].split() == ["case", "result", "tool_trajectory_avg_score", "response_match_score"]
    assert lines[1].split() == ["lamp", "passed", "(new)", "1.00", "(new)", "1.00", "(new)"]
    page = f"/admin/sessions_app/evaluation/{Evaluation.objects.get().pk}/change/"
    assert lines[2] == f"1 case: 1 passed. This is the first run. {page}"
    assert "1 same. /admin/" in evaluate(path)


def test_a_run_after_a_cancelled_one_is_not_called_the_first(workers: None, tmp_path: Path) -> None:
    ended = {"finished_at": timezone.now(), "case_count": 1, "cancelled": 1}
    Evaluation.objects.create(app_name="shop", set_id="prices", config={}, **ended)
    assert "1 passed. No earlier run was completed. /admin/" in evaluate(write_set(tmp_path, RIGHT))


def test_a_case_that_does_not_pass_is_an_exit_code(workers: None, tmp_path: Path) -> None:
    broken = case_of("breaks\x1b[31m\u202e", "fail", "Hello")
    table, error = failed("shop", write_set(tmp_path, RIGHT, WRONG, broken))
    assert error == "2 of 3 cases did not pass."
    assert "0.00 < 0.80 (new)" in table and "\x1b" not in table and "\u202e" not in table
    assert "    Message 1 of the case failed: the agent raised an exception." in table


def test_a_criterion_with_nothing_to_compare_has_no_score(workers: None, tmp_path: Path) -> None:
    silent = case_of("silent", "price?", "", "price")
    (silent.conversation or [])[0].final_response = None
    for _ in range(2):
        table = evaluate(write_set(tmp_path, silent))
    assert table.splitlines()[1].split() == ["silent", "passed", "(same)", "1.00", "(same)", "-"]


def test_scripts_read_one_json_object(workers: None, tmp_path: Path) -> None:
    written, _ = failed("shop", write_set(tmp_path, RIGHT, WRONG), "--json")
    found = json.loads(written)
    assert (found["app"], found["set"], found["passed"], found["failed"]) == ("shop", "prices", 1, 1)
    assert found["cases"][1]["metrics"]["response_match_score"] == {
        "score": 0.0,
        "threshold": 0.8,
        "change": "new",
        "before": None,
    }
    costs = found["cases"][0]["metrics"]["tool_call_count_v1"]
    assert costs == {"score": 1.0, "threshold": None, "change": "new", "before": None}


def test_the_criteria_are_those_beside_the_set_or_named(workers: None, tmp_path: Path) -> None:
    path = write_set(tmp_path, WRONG)
    (tmp_path / "test_config.json").write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    assert "response_match_score" not in evaluate(path)
    (tmp_path / "other.json").write_text('{"criteria": {"response_match_score": 0.0}}')
    assert "tool_trajectory_avg_score" not in evaluate(path, "--config", tmp_path / "other.json")


def test_a_set_beside_the_agents_is_found_by_its_name(
    workers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(tmp_path, RIGHT)
    monkeypatch.setattr(sources, "directory_of", lambda name: tmp_path)
    assert "1 passed" in evaluate("prices") and "1 passed" in evaluate("prices.evalset.json")
    with pytest.raises(CommandError, match=r"no set 'none' beside the agents of 'shop'.*: prices\."):
        evaluate("none")


def test_labelled_conversations_are_a_set(workers: None, session: Session, person: User) -> None:
    mark(session)
    mark(Session.objects.create(app_name="other", user=person, key="s-2"))
    empty = Session.objects.create(app_name="shop", user=person, key="s-3")
    Annotation.objects.create(session=empty, label="prices", by_name="root")
    assert "1 case: 1 passed." in evaluate("--marked", "prices")
    row = Evaluation.objects.get().cases.get()
    assert (row.eval_id, row.session_id) == (str(session.pk), session.pk)


def test_cases_whose_conversations_were_erased_are_counted(
    sent: list[int], tmp_path: Path, person: User, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = case_of(
        str(uuid4()), "Hi", "Hi", session_input=SessionInput(app_name="shop", user_id=str(person.pk))
    )
    said = evaluate(write_set(tmp_path, RIGHT, gone), "--detach")
    assert said.startswith("Evaluation of 1 case: ")
    assert "left out because their conversations were erased: 1." in capsys.readouterr().err


def test_a_detached_evaluation_prints_the_address_of_its_page(sent: list[int], tmp_path: Path) -> None:
    said = evaluate(write_set(tmp_path, RIGHT), "--detach")
    page = f"/admin/sessions_app/evaluation/{Evaluation.objects.get().pk}/change/"
    assert said == f"Evaluation of 1 case: {page}\n" and len(sent) == 1
    begun = json.loads(evaluate(write_set(tmp_path, RIGHT), "--detach", "--json"))
    assert begun["page"].startswith("/admin/")


def test_without_workers_the_command_says_so_and_ctrl_c_cancels(
    sent: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(adk_eval, "LOOK_SECONDS", 0.05)

    class Patience(StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    with pytest.raises(CommandError, match="The evaluation was cancelled: /admin/"):
        call_command("adk_eval", "shop", str(write_set(tmp_path, RIGHT)), stderr=Patience())
    assert Evaluation.objects.get().counts == {"cancelled": 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "x"], "There is no app 'none'. The apps of this site: shop."),
        (["shop"], "Name an eval set, or conversations by --marked LABEL, and not both."),
        (
            ["shop", "x", "--marked", "y"],
            "Name an eval set, or conversations by --marked LABEL, and not both.",
        ),
        (["shop", "none.json"], "There is no file 'none.json'."),
        (["shop", "a\0b.json"], "'a\\x00b.json' is no path: embedded null byte."),
        (
            ["shop", "--marked", "none"],
            "No conversation with 'shop' has the label 'none'. The labels: 'prices'.",
        ),
        (["shop", "--marked", ""], "No conversation with 'shop' has the label ''."),
        (["shop", "--marked", "\0"], "No conversation with 'shop' has the label"),
        (["shop", "--marked", "prices", "--config", "none.json"], "There is no file 'none.json'."),
    ],
)
def test_what_cannot_be_evaluated_is_named(
    sent: list[int], session: Session, arguments: list[str], said: str
) -> None:
    mark(session)
    _, error = failed(*arguments)
    assert error.startswith(said)
    assert not Evaluation.objects.exists()

"""Eval sets and results over ADK's addresses: for staff with the right, within their remits, without secrets."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from sessions_app.contrib.evaluation import set_files
from sessions_app.contrib.evaluation.adk_api import MAX_RESULTS
from sessions_app.models import Evaluation, Remit, StaffAccess
from tests.integration.access import APP, make_evaluation, make_session
from tests.integration.admin.audit_rows import sign_in
from tests.integration.api.adk.conftest import Send

pytestmark = pytest.mark.django_db(transaction=True)
DEV = f"/adk/dev/apps/{APP}"
SETS, RESULTS = f"{DEV}/eval_sets", f"{DEV}/eval_results"
CASE = '{"eval_id": "hi", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}'
HOSTILE = [
    "none", "_", "_nan", "_inf", "_1e999", "_-1e15", f"{APP}_refunds_", "a/b", "../../etc/passwd", "x\0y", "😀" * 300,
    "<script>alert(1)</script>", "' OR 1=1 --", "%", "..",
]  # fmt: skip


@pytest.fixture
def evaluation(person: User) -> Evaluation:
    """An evaluation that has ended, of a case that was made of the person's conversation."""
    made = make_evaluation(make_session(person))
    result = {"metric": "response_match_score", "threshold": 0.8, "score": 0.5}
    made.cases.update(status="failed", results=[result])
    Evaluation.objects.filter(pk=made.pk).update(finished_at=timezone.now())
    return made


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, "evaluation")


def read(client: Client, address: str) -> Any:
    response = client.get(address)
    assert response.status_code == 200, response.content
    return response.json()


def status_of(client: Client, address: str) -> int:
    response = client.get(address)
    assert response.status_code < 400 or response["Content-Type"] == "application/problem+json"
    return response.status_code


def case_address(evaluation: Evaluation) -> str:
    return f"{SETS}/{evaluation.set_id}/evals/{evaluation.cases.get().eval_id}"


def addresses(evaluation: Evaluation) -> list[str]:
    listed = [SETS, f"{SETS}/refunds/evals", RESULTS]
    begun = evaluation.created_at.timestamp()
    return [*listed, f"{RESULTS}/{APP}_refunds_{begun}", case_address(evaluation)]


def test_staff_read_a_set_that_was_evaluated_and_its_result(staff: Client, evaluation: Evaluation) -> None:
    eval_id = evaluation.cases.get().eval_id
    assert read(staff, SETS) == ["refunds"]
    assert read(staff, f"{SETS}/refunds/evals") == [eval_id]
    (result_id,) = read(staff, RESULTS)
    result = read(staff, f"{RESULTS}/{quote(result_id, safe='')}")
    assert (result["evalSetId"], result["creationTimestamp"]) == (
        "refunds",
        evaluation.created_at.timestamp(),
    )
    (case,) = result["evalCaseResults"]
    assert (case["evalId"], case["finalEvalStatus"]) == (eval_id, 2)
    assert case["overallEvalMetricResults"][0]["score"] == 0.5
    assert status_of(staff, f"{RESULTS}/{result_id.replace('refunds', 'lamps')}") == 404


def test_a_case_is_masked_and_its_reading_is_recorded(staff: Client, evaluation: Evaluation) -> None:
    call = {"tool_uses": [{"name": "pay", "args": {"password": "geheim"}}]}
    case = {**evaluation.cases.get().case}
    case["conversation"][0]["intermediate_data"] = call
    evaluation.cases.update(case=case)
    text = staff.get(case_address(evaluation)).content.decode()
    assert "Hello" in text and "geheim" not in text
    access = StaffAccess.objects.get()
    assert (access.subject_kind, access.subject_id) == ("evaluation", str(evaluation.pk))


def test_each_address_is_for_staff_with_the_right(
    client: Client, evaluation: Evaluation, person: User
) -> None:
    client.force_login(person)
    assert {status_of(client, one) for one in addresses(evaluation)} == {403}
    person.user_permissions.set(Permission.objects.all())
    assert {status_of(client, one) for one in addresses(evaluation)} == {403}
    sign_in(client, "session")
    assert {status_of(client, one) for one in addresses(evaluation)} == {403}
    assert not StaffAccess.objects.exists()


def test_a_case_needs_the_right_to_read_texts(client: Client, evaluation: Evaluation) -> None:
    sign_in(client, "evaluation", rights=())
    *others, case = addresses(evaluation)
    assert {status_of(client, one) for one in others} == {200}
    assert status_of(client, case) == 403


async def test_a_key_of_staff_reads_no_evaluations(send: Send, person: User, evaluation: Evaluation) -> None:
    person.is_staff = person.is_superuser = True
    await person.asave()
    asked = await sync_to_async(addresses)(evaluation)
    assert {(await send("GET", one))[0] for one in asked} == {403}


def test_staff_see_the_apps_and_the_people_of_their_remits(staff: Client, evaluation: Evaluation) -> None:
    group = Group.objects.create(name="Clerks")
    User.objects.get(username="staff").groups.add(group)
    remit = Remit.objects.create(group=group, app_name=APP, people=Group.objects.create(name="Others"))
    assert read(staff, f"{SETS}/refunds/evals") == []
    (result_id,) = read(staff, RESULTS)
    assert read(staff, f"{RESULTS}/{result_id}")["evalCaseResults"] == []
    assert status_of(staff, case_address(evaluation)) == 404
    remit.app_name = "elsewhere"
    remit.save()
    assert status_of(staff, SETS) == status_of(staff, RESULTS) == 404


def test_files_beside_the_agents_are_sets_and_a_wrong_one_is_left_out(
    staff: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_files, "directory_of", lambda name: tmp_path)
    (tmp_path / "good.evalset.json").write_text(f'{{"eval_set_id": "good", "eval_cases": [{CASE}]}}')
    (tmp_path / "bad.evalset.json").write_text("{")
    assert read(staff, SETS) == ["good"]
    assert read(staff, f"{SETS}/good/evals/hi")["conversation"][0]["userContent"]["parts"] == [{"text": "Hi"}]


def test_the_results_are_those_of_the_last_evaluations_that_have_ended(
    staff: Client, evaluation: Evaluation
) -> None:
    older = {"app_name": APP, "set_id": "old", "config": {}, "case_count": 0}
    begun = timezone.now() - timedelta(days=1)
    Evaluation.objects.bulk_create(
        Evaluation(**older, created_at=begun - timedelta(seconds=number), finished_at=begun)
        for number in range(MAX_RESULTS)
    )
    Evaluation.objects.create(**{**older, "set_id": "runs"})
    ids = read(staff, RESULTS)
    assert len(ids) == MAX_RESULTS
    assert ids[0].startswith(f"{APP}_refunds_") and not any("_runs_" in one for one in ids)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_refused(staff: Client, evaluation: Evaluation, name: str) -> None:
    quoted = quote(name, safe="")
    expected = 400 if "\0" in name else 404
    for address in (
        f"{RESULTS}/{quoted}",
        f"{SETS}/refunds/evals/{quoted}",
        f"/adk/dev/apps/{quoted}/eval_sets",
    ):
        assert status_of(staff, address) == expected, address
    assert status_of(staff, f"{SETS}/{quoted}/evals") in (400, 404)

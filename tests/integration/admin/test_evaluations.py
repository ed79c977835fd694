"""Pages of evaluations: outcome and change, words for staff who may read them, and cases of people within remits."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from sessions_app.models import EvaluatedCase, Evaluation, Remit, Session, StaffAccess, StaffAct
from tests.integration.admin.audit_rows import HOSTILE, list_url, page_of, read, sign_in

pytestmark = pytest.mark.django_db(transaction=True)
METRIC = "response_match_score"


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, "evaluation", "session", rights=("view_text", "view_error_detail"))


def make_evaluation(*outcomes: tuple[str, str, float], **values: Any) -> Evaluation:
    """Store an evaluation that has ended, with cases of an id, a status and a score."""
    counts = {
        word: sum(status == word for _, status, _ in outcomes) for word in ("passed", "failed", "broken")
    }
    defaults: dict[str, Any] = {
        "app_name": "shop",
        "set_id": "prices",
        "config": {"criteria": {METRIC: {"threshold": 0.8}}},
        "case_count": len(outcomes),
        "finished_at": timezone.now(),
    }
    evaluation = Evaluation.objects.create(**{**defaults, **counts, **values})
    for position, (eval_id, status, score) in enumerate(outcomes, 1):
        add_case(evaluation, position, eval_id, status, score)
    return evaluation


def add_case(
    evaluation: Evaluation, position: int, eval_id: str, status: str, score: float, **values: Any
) -> EvaluatedCase:
    message = {
        "user_content": content("user", f"How much is {eval_id}?"),
        "final_response": content("model", "20"),
    }
    call = {"name": "price", "args": {"api_key": "geheim", "item": eval_id}}
    actual = {
        **message,
        "final_response": content("model", f"It is {eval_id}"),
        "intermediate_data": {"tool_uses": [call]},
    }
    result = {
        "metric": METRIC,
        "threshold": 0.8,
        "score": score,
        "invocations": [{"score": score, "rationale": "So."}],
    }
    return EvaluatedCase.objects.create(
        evaluation=evaluation,
        position=position,
        eval_id=eval_id,
        status=status,
        case={"eval_id": eval_id, "conversation": [message]},
        **{"actual": [actual], "results": [result], **values},
    )


def content(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def page_url(evaluation: Evaluation, query: str = "") -> str:
    return f"/admin/sessions_app/evaluation/{evaluation.pk}/change/{query}"


def test_the_page_compares_each_case_and_score_with_the_run_before(staff: Client) -> None:
    first = make_evaluation(("lamp", "passed", 1.0), ("desk", "failed", 0.2))
    second = make_evaluation(("lamp", "failed", 0.5), ("desk", "failed", 0.4), previous=first)
    html = read(staff, page_url(second))
    assert page_url(first) in html
    assert len(re.findall(r"\d\d:\d\d UTC", html)) == 2, "This run and the one before, with their time zone."
    assert "1 worse" in html and "1 better" in html
    assert "How much is lamp?" in html and "It is lamp" in html and "So." in html
    assert "price(" in html and "geheim" not in html
    listed = read(staff, list_url("evaluation"))
    assert "-1" in listed and "failed 2" in listed and page_url(second) in listed
    assert StaffAccess.objects.filter(subject_kind="evaluation", subject_id=str(second.pk)).exists()


def test_the_page_does_not_take_a_run_for_the_first_one_when_the_run_before_was_deleted(
    staff: Client,
) -> None:
    first = make_evaluation(("lamp", "passed", 1.0))
    second = make_evaluation(("lamp", "passed", 1.0), previous=first)
    first.delete()
    html = read(staff, page_url(second))
    assert "nothing: no run that was complete before this one began is kept" in html
    assert "first run" not in html


def test_cases_that_did_not_pass_come_first_and_twenty_are_on_a_page(staff: Client) -> None:
    outcomes = [(f"lamp-{number}", "passed", 1.0) for number in range(24)]
    evaluation = make_evaluation(*outcomes, ("bad", "failed", 0.0))
    html = read(staff, page_url(evaluation))
    assert html.index("<bdi>bad") < html.index("<bdi>lamp-0") and "lamp-23" not in html
    assert "lamp-23" in read(staff, page_url(evaluation, "?p=2"))
    for query in ("?p=items", "?p=-1", "?p=9999999999999999999999", "?items=1"):
        assert staff.get(page_url(evaluation, query)).status_code == 200


def test_hostile_texts_are_text(staff: Client) -> None:
    evaluation = make_evaluation(
        (f"a {HOSTILE} \u202e"[:200], "broken", 0.0), set_id=HOSTILE, app_name=HOSTILE
    )
    evaluation.cases.update(error=HOSTILE, error_detail=HOSTILE)
    for url in (page_url(evaluation), list_url("evaluation")):
        html = read(staff, url)
        assert "<script>alert" not in html and "\u202e" not in html


def test_a_run_that_goes_on_is_shown_with_what_has_ended(staff: Client) -> None:
    evaluation = make_evaluation(("lamp", "passed", 1.0), finished_at=None)
    add_case(evaluation, 2, "desk", "queued", 0.0, actual=[], results=[])
    html = read(staff, page_url(evaluation))
    assert "running" in html and "did not come so far" in html


def test_staff_with_the_permission_stop_a_run_that_goes_on(staff: Client) -> None:
    evaluation = make_evaluation(("lamp", "passed", 1.0), finished_at=None)
    add_case(evaluation, 2, "desk", "queued", 0.0, actual=[], results=[])
    url = f"/admin/sessions_app/evaluation/{evaluation.pk}/stop/"
    assert url not in read(staff, page_url(evaluation))
    assert staff.post(url, {"reason": "Too dear"}).status_code == 403
    stop = Permission.objects.get(codename="cancel_evaluation")
    User.objects.get(username="staff").user_permissions.add(stop)
    assert url in read(staff, page_url(evaluation))
    assert "shop" in read(staff, url)
    assert "The evaluation is stopped." in staff.post(url, {"reason": "Too dear"}, follow=True).text
    evaluation.refresh_from_db()
    assert evaluation.counts == {"passed": 1, "cancelled": 1}
    act = StaffAct.objects.get()
    assert (act.actor_name, act.action, act.subject_id, act.reason) == (
        "staff", "stop", str(evaluation.pk), "Too dear",
    )  # fmt: skip
    html = read(staff, page_url(evaluation))
    assert "cancelled 1" in html and url not in html
    assert "The evaluation has ended." in staff.post(url, follow=True).text


def test_the_messages_of_a_simulated_user_are_on_the_page(staff: Client) -> None:
    evaluation = make_evaluation(("lamp", "passed", 1.0))
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Buy a lamp."}
    evaluation.cases.update(case={"eval_id": "lamp", "conversation_scenario": scenario})
    html = read(staff, page_url(evaluation))
    assert "How much is lamp?" in html and "It is lamp" in html


def test_words_need_the_right_to_read_texts_and_scores_do_not(staff: Client, session: Session) -> None:
    evaluation = make_evaluation(("lamp", "broken", 0.5))
    evaluation.cases.update(error_detail="Traceback", session=session)
    html = read(staff, page_url(evaluation))
    assert "Traceback" in html and page_of(session) in html
    user = User.objects.get(username="staff")
    user.user_permissions.remove(*Permission.objects.filter(codename__in=("view_text", "view_error_detail")))
    StaffAccess.objects.all().delete()
    html = read(staff, page_url(evaluation))
    assert "0.50" in html and "How much" not in html and "It is lamp" not in html and "Traceback" not in html
    assert page_of(session) not in html
    assert not StaffAccess.objects.exists()


def test_staff_see_evaluations_and_cases_of_their_remits(staff: Client, person: User) -> None:
    group, customers = Group.objects.create(name="Shop"), Group.objects.create(name="Customers")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop", people=customers)
    evaluation = make_evaluation(("lamp", "failed", 0.5))
    stranger = Session.objects.create(app_name="shop", user=person, key="s-1")
    add_case(evaluation, 2, "desk", "failed", 0.5, session=stranger)
    html = read(staff, page_url(evaluation))
    assert "How much is lamp?" in html and "desk" not in html
    person.groups.add(customers)
    html = read(staff, page_url(evaluation))
    assert "How much is desk?" in html and page_of(stranger) in html
    other = make_evaluation(("lamp", "failed", 0.5), app_name="other")
    assert staff.get(page_url(other)).status_code == 404
    assert page_url(other) not in read(staff, list_url("evaluation"))


@pytest.mark.parametrize("key", ["x", "0", "00000000-0000-0000-0000-000000000000", "_00", "items"])
def test_an_unknown_evaluation_is_not_found(staff: Client, key: str) -> None:
    assert staff.get(f"/admin/sessions_app/evaluation/{key}/change/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_cases(
    staff: Client, django_assert_max_num_queries: Any
) -> None:
    first = make_evaluation(*[(f"case-{number}", "failed", 0.1) for number in range(40)])
    second = make_evaluation(*[(f"case-{number}", "failed", 0.1) for number in range(40)], previous=first)
    with django_assert_max_num_queries(16):
        read(staff, page_url(second))

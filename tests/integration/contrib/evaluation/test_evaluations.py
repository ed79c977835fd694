"""Contract: each case of an evaluation is run once and ends, whatever dies; its results are stored and compared."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import EvaluationError
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_case import EvalCase, SessionInput
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.models import LLMRegistry, LlmResponse
from sessions_app import tasks
from sessions_app.contrib.evaluation import repairs, run, start
from sessions_app.contrib.evaluation.comparison import Change, reports_of
from sessions_app.contrib.evaluation.end import cancel_evaluation, wait_for_end
from sessions_app.contrib.evaluation.repairs import MAX_ATTEMPTS, evaluation_repairs
from sessions_app.contrib.evaluation.start import start_evaluation
from sessions_app.errors import NotFoundError
from sessions_app.models import CaseStatus, DayFigure, EvaluatedCase, Evaluation, Invocation, Session
from sessions_app.process.sweeping import sweep_over
from sessions_app.process.threads import in_thread
from sessions_app.store.erasing import delete_session_row
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.evaluation.workers import APP, begin, case_of, outcome, run_all, run_case
from tests.served_agents import Served

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(hours=1)
RIGHT = case_of("lamp", "price?", "It costs 20 EUR", "price")
WRONG_CALL = case_of("calls", "Hello", "Hello", "price")
WRONG_TEXT = case_of("words", "Hello", "Something else")
BROKEN = case_of("breaks", "fail", "Hello")


def sweep() -> None:
    sweep_over(evaluation_repairs())


def make_lost(case: EvaluatedCase) -> None:
    """Let the worker of a claimed case be silent for an hour."""
    row = run._claim(case.pk)
    assert row is not None
    EvaluatedCase.objects.filter(pk=case.pk).update(heartbeat_at=timezone.now() - LONG_AGO)


def test_cases_are_sent_and_end_as_passed_failed_or_broken(sent: list[int]) -> None:
    evaluation = begin(RIGHT, WRONG_CALL, WRONG_TEXT, BROKEN)
    assert sorted(sent) == sorted(evaluation.cases.values_list("pk", flat=True))
    evaluation = run_all(evaluation)
    assert outcome(evaluation) == {"lamp": "passed", "calls": "failed", "words": "failed", "breaks": "broken"}
    assert (evaluation.passed, evaluation.failed, evaluation.broken) == (1, 2, 1)
    assert evaluation.finished_at is not None


def test_a_simulated_user_plays_a_scenario(sent: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = '{"verdicts": [{"rubric_id": "multi_turn_task_success_v1", "verdict": "yes"}]}'
    others = ScriptedModel(turns=["And the price?", "</finished>", verdict])
    monkeypatch.setattr(LLMRegistry, "new_llm", lambda name: others)
    criterion = {"threshold": 0.5, "judge_model_options": {"num_samples": 1}}
    config = EvalConfig.model_validate({"criteria": {"multi_turn_task_success_v1": criterion}})
    scenario = ConversationScenario(starting_prompt="Hello", conversation_plan="Ask for the price.")
    row = run_all(begin(EvalCase(eval_id="a", conversation_scenario=scenario), config=config)).cases.get()
    assert row.status == "passed"
    said = [invocation["user_content"]["parts"][0]["text"] for invocation in row.actual]
    assert said == ["Hello", "And the price?"]


def test_the_results_and_the_invocations_are_stored(sent: list[int]) -> None:
    row = run_all(begin(RIGHT)).cases.get()
    scores = {one["metric"]: one.get("score") for one in row.results}
    assert scores.pop("invocation_duration_v1") > 0
    assert scores == {
        "tool_trajectory_avg_score": 1.0,
        "response_match_score": 1.0,
        "tool_call_count_v1": 1.0,
        "inference_call_count_v1": None,  # the scripted model tells nothing of itself
        "token_usage_v1": None,
    }
    (invocation,) = row.actual
    assert invocation["final_response"]["parts"] == [{"text": "It costs 20 EUR"}]
    assert invocation["intermediate_data"]["tool_uses"][0]["name"] == "price"


def test_a_broken_case_tells_staff_why_without_words_of_the_exception(sent: list[int]) -> None:
    row = run_all(begin(BROKEN)).cases.get()
    assert row.error == "Message 1 of the case failed: the agent raised an exception."
    assert "OSError" in row.error_detail and "secret" not in row.error_detail


def test_a_case_leaves_no_session_invocation_or_figure(sent: list[int], person: User) -> None:
    run_all(begin(RIGHT))
    assert not Session.objects.exists() and not Invocation.objects.exists() and not DayFigure.objects.exists()


def test_a_task_that_is_delivered_twice_runs_the_case_once(sent: list[int], model: ScriptedModel) -> None:
    evaluation = begin(RIGHT)
    run_all(evaluation)
    requests = len(model.requests)
    run_all(evaluation)
    assert len(model.requests) == requests
    assert evaluation.cases.get().attempts == 1


def test_the_case_of_a_dead_worker_is_done_again(sent: list[int]) -> None:
    evaluation = begin(RIGHT)
    make_lost(evaluation.cases.get())
    sent.clear()
    sweep()
    assert sent == [evaluation.cases.get().pk]
    assert run_all(evaluation).passed == 1
    assert evaluation.cases.get().attempts == 2


def test_a_case_that_kills_its_workers_ends(sent: list[int]) -> None:
    evaluation = begin(RIGHT)
    for _ in range(MAX_ATTEMPTS):
        make_lost(evaluation.cases.get())
        sweep()
    row = evaluation.cases.get()
    assert (row.status, row.error) == ("broken", f"The worker died in attempt {MAX_ATTEMPTS}.")
    assert Evaluation.objects.get().finished_at is not None


def test_an_attempt_that_was_given_up_writes_nothing(sent: list[int], served: Served) -> None:
    async def price() -> dict[str, int]:
        """Price of the lamp, after another worker has taken the case."""
        await in_thread(EvaluatedCase.objects.update, attempts=9)
        return {"price": 20}

    served(LlmAgent(name=APP, model=ScriptedModel(turns=[call("price"), "It costs 20 EUR"]), tools=[price]))
    evaluation = begin(RIGHT)
    run_all(evaluation)
    row = evaluation.cases.get()
    assert (row.status, row.attempts, row.results) == ("running", 9, [])


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch, served: Served, sent: list[int]) -> list[Callable[[], Any]]:
    """A shop whose tool takes for ever, and what happens meanwhile."""
    meanwhile: list[Callable[[], Any]] = []

    async def price() -> None:
        """Take for ever."""
        for happen in meanwhile:
            await in_thread(happen)
        await asyncio.Event().wait()

    monkeypatch.setattr(run, "HEARTBEAT_SECONDS", 0.02)
    served(LlmAgent(name=APP, model=ScriptedModel(turns=[call("price")]), tools=[price]))
    return meanwhile


def test_an_attempt_that_another_one_has_replaced_is_stopped(endless: list[Callable[[], Any]]) -> None:
    endless.append(lambda: EvaluatedCase.objects.update(attempts=9))
    evaluation = begin(RIGHT)
    run_all(evaluation)
    assert outcome(evaluation) == {"lamp": "running"}


def test_a_cancelled_evaluation_stops_what_runs_and_begins_nothing(
    endless: list[Callable[[], Any]], sent: list[int]
) -> None:
    evaluation = begin(RIGHT, WRONG_TEXT)
    endless.append(lambda: cancel_evaluation(evaluation.pk))
    ended = run_all(evaluation)
    assert outcome(evaluation) == {"lamp": "cancelled", "words": "cancelled"}
    assert (ended.cancelled, ended.finished_at is not None) == (2, True)
    assert evaluation.cases.get(eval_id="words").attempts == 0
    cancel_evaluation(evaluation.pk)
    sweep()
    assert Evaluation.objects.get().finished_at == ended.finished_at and len(sent) == 2
    assert begin(RIGHT).previous is None


def test_cases_that_the_broker_did_not_take_are_sent_by_the_sweep(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(case_id: int) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(start, "send_case", refuse)
        evaluation = begin(RIGHT)
    sweep()
    assert sent == []  # It may be on its way.
    Evaluation.objects.update(created_at=timezone.now() - LONG_AGO)
    sweep()
    sweep()
    assert sent == [evaluation.cases.get().pk]


def test_cases_that_the_broker_has_lost_are_sent_again(sent: list[int]) -> None:
    evaluation = begin(RIGHT)
    EvaluatedCase.objects.update(sent_at=timezone.now() - LONG_AGO)
    sweep()
    assert sent == [evaluation.cases.get().pk] * 2


def test_the_sweep_of_the_site_looks_after_evaluations(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(RIGHT)
    EvaluatedCase.objects.update(sent_at=timezone.now() - LONG_AGO)
    tasks.sweep()
    assert len(sent) == 2


def test_two_cases_that_end_at_once_end_the_evaluation(sent: list[int]) -> None:
    evaluation = begin(RIGHT, WRONG_CALL, WRONG_TEXT, BROKEN)

    def work(case_id: int) -> None:
        run_case(case_id)
        connection.close()

    threads = [threading.Thread(target=work, args=[case_id]) for case_id in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = Evaluation.objects.get(pk=evaluation.pk)
    assert (found.passed, found.failed, found.broken) == (1, 2, 1)


def test_the_end_is_told_to_a_waiting_process_at_once(sent: list[int]) -> None:
    evaluation = begin(RIGHT, WRONG_CALL)
    looks = wait_for_end(evaluation.pk, look_seconds=60)
    assert next(looks).finished_at is None

    def work() -> None:
        run_all(evaluation)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    *_, last = looks
    thread.join()
    assert last.finished_at is not None


def test_a_run_is_compared_with_the_last_one_by_case_and_metric(sent: list[int]) -> None:
    first = run_all(
        begin(RIGHT, WRONG_CALL, case_of("same", "Hi", "Hi"), case_of("half", "one two", "one three"))
    )
    begin(RIGHT)  # A run that has not ended is none to compare with.
    second = run_all(
        begin(
            case_of("lamp", "price?", "It costs 20 EUR"),
            case_of("calls", "Hello", "Hello"),
            case_of("same", "Hi", "Hi"),
            case_of("half", "one two", "one two three four"),
            case_of("added", "Hi", "Hi"),
        )
    )
    assert first.previous is None and second.previous_id == first.pk
    reports = {report.row.eval_id: report for report in reports_of(second, second.cases.all())}
    assert {key: report.change for key, report in reports.items()} == {
        "lamp": Change.WORSE,
        "calls": Change.BETTER,
        "same": Change.SAME,
        "half": Change.BETTER,
        "added": Change.NEW,
    }
    lamp = {metric.name: (metric.change, metric.before) for metric in reports["lamp"].metrics}
    del lamp["invocation_duration_v1"]
    assert lamp == {
        "tool_trajectory_avg_score": (Change.WORSE, 1.0),
        "response_match_score": (Change.SAME, 1.0),
        "tool_call_count_v1": (Change.SAME, 1.0),
        "inference_call_count_v1": (Change.NEW, None),
        "token_usage_v1": (Change.NEW, None),
    }
    assert begin(RIGHT, set_id="others").previous is None


def test_a_judge_that_cannot_answer_breaks_the_case_and_what_was_said_is_kept(sent: list[int]) -> None:
    criterion = {"threshold": 0.5, "judge_model_options": {"judge_model": "demo", "num_samples": 1}}
    criteria = {"final_response_match_v2": criterion, "response_match_score": 0.8}
    config = EvalConfig.model_validate({"criteria": criteria})
    row = run_all(begin(RIGHT, config=config)).cases.get()
    assert row.status == CaseStatus.BROKEN and "judge model 'demo'" in row.error
    assert len(row.actual) == 1
    assert [one["metric"] for one in row.results] == ["response_match_score"]


def test_the_words_of_a_judge_that_fails_are_among_the_details_of_the_error(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = LlmResponse(
        error_code="RESOURCE_EXHAUSTED", error_message="Busy.", error_detail="Quota 7 is used."
    )
    monkeypatch.setattr(LLMRegistry, "new_llm", lambda name: ScriptedModel(turns=[failure]))
    criterion = {"threshold": 0.5, "judge_model_options": {"judge_model": "judge", "num_samples": 1}}
    config = EvalConfig.model_validate({"criteria": {"final_response_match_v2": criterion}})
    row = run_all(begin(case_of("words", "Hello", "Hello"), config=config)).cases.get()
    assert row.error == "The judge model 'judge' could not answer: RESOURCE_EXHAUSTED."
    assert "Quota 7 is used." in row.error_detail


def test_the_words_of_a_model_that_fails_are_among_the_details_of_the_error(
    sent: list[int], served: Served
) -> None:
    failure = LlmResponse(error_code="BUSY", error_message="Wait.", error_detail="Quota 7, password=secret")
    served(LlmAgent(name=APP, model=ScriptedModel(turns=[failure])))
    row = run_all(begin(WRONG_TEXT)).cases.get()
    assert row.error == "Message 1 of the case failed: BUSY: Wait."
    assert "Quota 7" in row.error_detail and "secret" not in row.error_detail


def recorded(session: Session) -> EvalCase:
    """Return a case as the export of a conversation has it."""
    session_input = SessionInput(app_name=session.app_name, user_id=str(session.user_id))
    return case_of(str(session.pk), "Hi", "Hi", session_input=session_input)


def test_a_case_of_a_conversation_is_erased_with_it(sent: list[int], person: User) -> None:
    session = Session.objects.create(app_name=APP, user=person, key="s-1")
    other = Session.objects.create(app_name="other", user=person, key="s-1")
    evaluation = begin(recorded(session), recorded(other), RIGHT)
    run_case(evaluation.cases.get(session=None).pk)
    for erased in (session, other):
        delete_session_row(Session.objects.filter(pk=erased.pk))
    assert [row.eval_id for row in evaluation.cases.all()] == ["lamp"]
    sweep()
    assert Evaluation.objects.get().passed == 1 and Evaluation.objects.get().finished_at is not None


def test_a_case_of_a_conversation_that_was_erased_before_is_left_out(sent: list[int], person: User) -> None:
    exported = recorded(Session.objects.create(app_name=APP, user=person, key="s-1"))
    delete_session_row(Session.objects.all())
    evaluation = begin(exported, RIGHT, case_of(str(uuid4()), "Hi", "Hi"))
    assert evaluation.case_count == 2
    assert exported.eval_id not in outcome(evaluation)
    with pytest.raises(EvaluationError, match="the conversations of all cases were erased"):
        begin(exported)
    assert Evaluation.objects.count() == 1


def test_a_conversation_is_not_erased_but_goes_on_while_its_case_is_stored(
    sent: list[int], person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.objects.create(app_name=APP, user=person, key="s-1")
    store = EvaluatedCase.objects.bulk_create

    def change_session() -> None:
        Session.objects.update(title="Goes on")
        with transaction.atomic(), pytest.raises(OperationalError, match="could not obtain lock"):
            Session.objects.select_for_update(nowait=True).get()
        connection.close()

    def store_meanwhile(rows: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(change_session).result()
        return store(rows)

    monkeypatch.setattr(EvaluatedCase.objects, "bulk_create", store_meanwhile)
    assert begin(recorded(session)).cases.get().session == session


def test_the_housekeeping_keeps_the_newest_runs_of_each_set(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "KEPT_RUNS", 2)
    kept = [begin(RIGHT, set_id=name) for name in ("others", "prices", "prices", "prices")]
    repairs.delete_old_evaluations()
    assert set(Evaluation.objects.all()) == {kept[0], kept[2], kept[3]}
    assert EvaluatedCase.objects.count() == 3


def test_the_housekeeping_keeps_the_run_that_the_next_one_is_compared_with(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairs, "KEPT_RUNS", 2)
    for _ in range(2):
        last = run_all(begin(RIGHT))
    cancelled = [begin(RIGHT) for _ in range(3)]
    for evaluation in cancelled:
        cancel_evaluation(evaluation.pk)
    repairs.delete_old_evaluations()
    assert set(Evaluation.objects.all()) == {last, *cancelled[1:]}
    assert begin(RIGHT).previous == last


def test_hostile_texts_and_values_are_stored(sent: list[int]) -> None:
    text = "a\0b \ud800 \u202e <script> " + "x" * 1_000_000
    case = case_of("items", text, text, session_input=None)
    (invocation,) = case.conversation or []
    odd = types.FunctionCall(name="f", args={"\0": float("nan"), "n": 10**400, "items": [float("inf")]})
    invocation.intermediate_data.tool_uses.append(odd)  # type: ignore[union-attr]
    row = run_all(begin(case, set_id="\u202e 'x'")).cases.get()
    assert row.status == CaseStatus.FAILED  # It was stored and run; the call was not made.
    assert row.case["conversation"][0]["intermediate_data"]["tool_uses"][0]["args"]["items"] == [None]


def test_an_unknown_app_or_criterion_stores_nothing(sent: list[int]) -> None:
    with pytest.raises(EvaluationError, match=r"criteria\.politeness"):
        begin(RIGHT, config=EvalConfig.model_validate({"criteria": {"politeness": 1.0}}))
    with pytest.raises(EvaluationError, match="eval_cases: a set has 1 to 1000 cases, not 0"):
        begin()
    with pytest.raises(NotFoundError, match="There is no app 'none'"):
        start_evaluation("none", EvalSet(eval_set_id="x", eval_cases=[RIGHT]), DEFAULT_CONFIG)
    assert not Evaluation.objects.exists() and not sent


def test_a_case_of_an_app_that_is_gone_is_broken(sent: list[int], served: Served) -> None:
    evaluation = begin(RIGHT)
    served(LlmAgent(name="other", model=ScriptedModel()))
    row = run_all(evaluation).cases.get()
    assert (row.status, row.error) == ("broken", "There is no app 'shop'. The apps of this site: other.")

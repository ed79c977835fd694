"""Figures of sessions and days: each event counts once, also when a process dies, and a sweep finds every session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Model
from django.utils import timezone

from runtime.engine.human_input.confirmation import REJECTED
from runtime.events.calls import ResponseStatus
from sessions_app.history.event_marks import INTERRUPTED_CALL, STOPPED_CALL
from sessions_app.history.figures import batches
from sessions_app.history.figures.batches import count_figures, recount_all_sessions
from sessions_app.history.figures.days import bucket_of, delete_old_days, local_day, percentile
from sessions_app.history.figures.log_facts import MAX_SENTENCE, cause_of
from sessions_app.management.commands import adk_sample_data
from sessions_app.models import (
    ActiveDay,
    CallError,
    DayFigure,
    DayMetric,
    Event,
    EventWords,
    Failure,
    FiguresProgress,
    Invocation,
    Session,
    SessionFigures,
)
from sessions_app.models.figures import AGENT, OUTCOME, TOOL, names_of
from sessions_app.store.erasing import delete_session_row
from tests.integration.admin.audit_rows import START, append_event

pytestmark = pytest.mark.django_db
DAY = date(2026, 11, 21)
USAGE = {"promptTokenCount": 1000, "candidatesTokenCount": 100, "thoughtsTokenCount": 10}
CALL = {"functionCall": {"id": "c-1", "name": "refund", "args": {}}}


@pytest.fixture(autouse=True)
def prices(settings: Any) -> None:
    settings.ADK = {**settings.ADK, "prices": {"small": {"input": 1_000_000.0, "output": 2_000_000.0}}}


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="shop", user=person, key="s-1")


def count() -> None:
    SessionFigures.objects.update(counted_at=timezone.now() - timedelta(hours=1))
    while count_figures(60):
        pass


def amounts(metric: DayMetric) -> dict[str, float]:
    """Return the amounts by name, over all days."""
    found: dict[str, float] = {}
    for row in DayFigure.objects.filter(metric=metric):
        found[row.name] = found.get(row.name, 0) + row.amount
    return found


def answer(error: object = None) -> dict[str, Any]:
    response = {"status": "done"} if error is None else {"error": error}
    return {"functionResponse": {"id": "c-1", "name": "refund", "response": response}}


def converse(session: Session) -> None:
    append_event(session, {"text": "Refund it."}, author="user")
    append_event(session, CALL, author="clerk", modelVersion="small-1", usageMetadata=USAGE)
    append_event(session, answer("Order 1001 is closed."), author="clerk")
    append_event(
        session, {"text": "It is closed."}, author="clerk", modelVersion="small-1", usageMetadata=USAGE
    )


def end_invocation(session: Session, status: str = "completed", n: int = 1) -> Invocation:
    start = datetime.fromtimestamp(START, UTC)
    invocation = Invocation.objects.create(
        session=session, invocation_id=f"e-{session.key}-{n}", client_id=f"m-{n}", message={}, status=status,
        started_at=start, finished_at=start + timedelta(seconds=3),
    )  # fmt: skip
    Invocation.objects.filter(pk=invocation.pk).update(created_at=start)
    return invocation


def test_failures_are_counted_by_node_of_a_workflow(session: Session) -> None:
    for number in (1, 2):
        path = {"path": f"refunds@{number}/pay@{number}"}
        append_event(session, author="refunds", errorCode="BankError", nodeInfo=path)
    count()
    assert amounts(DayMetric.FAILURES) == {"refunds/pay": 2}
    assert set(Failure.objects.values_list("tool_name", flat=True)) == {"refunds/pay"}


def test_a_session_has_its_tokens_cost_errors_runtime_tools_and_outcomes(session: Session) -> None:
    converse(session)
    end_invocation(session)
    count()
    figures = SessionFigures.objects.get()
    assert (figures.seq, figures.tokens, figures.errors, figures.seconds) == (4, 2220, 1, 3.0)
    assert figures.cost == pytest.approx(2 * (1000 + 220))
    labels = {kind: names_of(kind, figures.labels) for kind in (AGENT, TOOL, OUTCOME)}
    assert labels == {"agent": ["clerk"], "tool": ["refund"], "outcome": ["completed"]}
    failure = Failure.objects.get()
    assert (failure.seq, failure.day, failure.tool_name, failure.cause) == (
        3,
        DAY,
        "refund",
        "Order # is closed.",
    )
    assert amounts(DayMetric.TOKENS) == {"clerk": 2220} and amounts(DayMetric.CALLS) == {"refund": 1}
    assert amounts(DayMetric.FAILURES) == {"refund": 1} and amounts(DayMetric.INVOCATIONS) == {"completed": 1}
    assert amounts(DayMetric.PEOPLE) == {"": 1} and amounts(DayMetric.FIRST_WORD) == {bucket_of(7.5): 1}


def test_each_event_counts_once_however_often_and_when_it_is_counted(session: Session, person: User) -> None:
    other = Session.objects.create(app_name="shop", user=person, key="s-2")
    for _ in range(3):
        converse(session)
        count()
        count()
    for _ in range(3):
        converse(other)
    recount_all_sessions()
    count()
    first, second = (SessionFigures.objects.get(session=one) for one in (session, other))
    assert first.tokens == second.tokens == 3 * 2220 and first.errors == second.errors == 3
    assert amounts(DayMetric.TOKENS) == {"clerk": 6 * 2220} and amounts(DayMetric.PEOPLE) == {"": 1}
    assert Failure.objects.count() == 6


def test_a_sweep_that_is_killed_counts_nothing_and_the_next_one_counts_all(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    converse(session)

    def die(amounts: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(batches, "add_amounts", die)
        with pytest.raises(KeyboardInterrupt):
            count()
    assert not SessionFigures.objects.exists()
    count()
    assert amounts(DayMetric.TOKENS) == {"clerk": 2220}


def test_an_invocation_that_is_retried_moves_from_one_outcome_to_the_other(session: Session) -> None:
    converse(session)
    invocation = end_invocation(session, "running")
    count()
    assert amounts(DayMetric.INVOCATIONS) == {} and not SessionFigures.objects.get().is_settled
    for status in ("failed", "running", "completed"):
        append_event(session, {"text": status}, author="clerk")  # what a retry appends
        Invocation.objects.filter(pk=invocation.pk).update(status=status)
        count()
        assert sum(amounts(DayMetric.INVOCATIONS).values()) == (0 if status == "running" else 1)
    assert {name for name, number in amounts(DayMetric.INVOCATIONS).items() if number} == {"completed"}
    assert names_of(OUTCOME, SessionFigures.objects.get().labels) == ["completed"]
    assert SessionFigures.objects.get().is_settled


def test_old_sessions_are_counted_bit_by_bit_also_those_of_one_moment(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_SIZE", 3)
    monkeypatch.setattr("sessions_app.history.figures.log_facts.MAX_EVENTS", 5)
    for n in range(8):
        converse(Session.objects.create(app_name="shop", user=person, key=f"s-{n}"))
    Session.objects.update(updated_at=timezone.now() - timedelta(days=30))
    assert count_figures(0)  # one batch
    count()
    assert SessionFigures.objects.filter(tokens=2220, is_settled=True).count() == 8
    assert FiguresProgress.objects.get().oldest is None


def test_a_session_that_is_stored_with_old_times_is_found_at_night(session: Session) -> None:
    count()
    converse(session)
    Session.objects.update(updated_at=timezone.now() - timedelta(days=30))
    count()
    assert SessionFigures.objects.get().tokens == 0
    recount_all_sessions()
    count()
    assert SessionFigures.objects.get().tokens == 2220


ODD: tuple[dict[str, Any], ...] = (
    {"usageMetadata": [1]},
    {"usageMetadata": {"promptTokenCount": 10**30}},
    {"modelVersion": {"a": 1}, "usageMetadata": USAGE},
    {
        "content": {
            "parts": ["x", {"functionResponse": 5}, {"functionResponse": {"response": {"error": {"a": [1]}}}}]
        }
    },
    {"content": {"parts": [{"functionResponse": {"name": ["x"], "response": {"error": "‮" + "x" * 10_000}}}]}},
    {"timestamp": 250_000_000_000.0},
    {"errorCode": 5, "errorMessage": ["a"]},
    {"author": "a" * 1000, "invocationId": "i" * 1000},
)


@pytest.mark.parametrize("body", ODD)
def test_an_odd_event_holds_up_no_other(session: Session, person: User, body: dict[str, Any]) -> None:
    append_event(session, **body)
    converse(Session.objects.create(app_name="shop", user=person, key="s-2"))
    count()
    assert SessionFigures.objects.filter(is_settled=True).count() == 2


def test_an_empty_error_and_a_cancelled_call_are_no_failures(session: Session) -> None:
    for response in (
        {"error": None},
        {"error": ""},
        {"error": False},
        {"status": "cancelled", "error": "Cancelled"},
    ):
        append_event(session, {"functionResponse": {"id": "c-1", "name": "refund", "response": response}})
    count()
    assert not Failure.objects.exists() and amounts(DayMetric.CALLS) == {"refund": 4}


def respond(
    session: Session, call_id: str, name: str = "refund", author: str = "clerk", **response: Any
) -> None:
    part = {"functionResponse": {"id": call_id, "name": name, "response": response}}
    append_event(session, part, author=author)


def test_of_three_parallel_calls_only_the_one_with_the_exception_has_failed(session: Session) -> None:
    interrupted = ResponseStatus.INTERRUPTED.with_error(INTERRUPTED_CALL)
    respond(session, "c-1", **interrupted)
    respond(session, "c-2", error="The till of order 1001 is shut.")
    respond(session, "c-3", error=INTERRUPTED_CALL)
    respond(session, "c-4", **ResponseStatus.STOPPED.with_error(STOPPED_CALL))
    count()
    failure = Failure.objects.get()
    assert (failure.seq, failure.cause) == (2, "The till of order # is shut.")
    assert amounts(DayMetric.FAILURES) == {"refund": 1} and amounts(DayMetric.CALLS) == {"refund": 4}
    assert SessionFigures.objects.get().errors == 1


def test_a_rejection_is_no_failure_and_a_placeholder_no_call(session: Session) -> None:
    for call_id, status in (("c-1", "pending"), ("c-2", "queued")):
        respond(session, call_id, status=status)
    respond(session, "q-1", "adk_request_confirmation", "user", confirmed=False)
    respond(session, "c-1", **ResponseStatus.REJECTED.with_error(REJECTED))
    respond(session, "c-2", author="user", status="succeeded")
    respond(session, "c-3", error=REJECTED)
    count()
    assert not Failure.objects.exists()
    assert amounts(DayMetric.CALLS) == {"refund": 3} and amounts(DayMetric.REJECTIONS) == {"refund": 2}


def test_failures_with_one_exception_at_one_place_have_one_cause(session: Session) -> None:
    places = ("shop.py", "shop.py", "till.py")
    for number, place in enumerate(places, 1):
        respond(session, f"c-{number}", error=f"Something else each time: {'x' * number}")
        frame = f'  File "/srv/{place}", line 3, in pay\n    x()\n'
        detail = f"Traceback:\n{frame}shop.Refused: no {number}"
        names = {"call_id": f"c-{number}", "tool_name": "refund", "error": "Refused"}
        CallError.objects.create(session=session, seq=session.last_seq, detail=detail, **names)
    respond(session, "c-4", error="no place")
    CallError.objects.create(
        session=session, seq=session.last_seq, call_id="c-4", tool_name="refund", error="E", detail="T:\n"
        f'  File "{json.__file__}", line 7, in loads\n    decode()\nValueError: no place',
    )  # fmt: skip
    count()
    causes = [row.cause for row in Failure.objects.order_by("pk")]
    assert causes == [
        "shop.Refused, /srv/shop.py:3 in pay",
        "shop.Refused, /srv/shop.py:3 in pay",
        "shop.Refused, /srv/till.py:3 in pay",
        "ValueError: no place",
    ]


def test_an_exception_that_ends_its_invocation_has_its_place_as_the_cause(session: Session) -> None:
    places = {
        "e-1": '  File "/srv/shop.py", line 3, in weigh\n    x()\n',
        "e-2": f'  File "{json.__file__}", line 7\n',
    }
    for name, frame in places.items():
        Invocation.objects.create(
            session=session, invocation_id=name, client_id=name, message={}, status="failed",
            error_detail=f"Traceback:\n{frame}shop.Refused: no {name}",
        )  # fmt: skip
        append_event(session, author="clerk", invocationId=name, errorCode="Refused", errorMessage="Sorry.")
    count()
    causes = [row.cause for row in Failure.objects.order_by("seq")]
    assert causes == ["shop.Refused, /srv/shop.py:3 in weigh", "Refused: Sorry."]


def test_a_long_cause_ends_with_a_whole_word(session: Session) -> None:
    cause = cause_of("Everything " * 100)
    assert cause.endswith("Everything …") and len(cause) <= MAX_SENTENCE + 2


def test_an_erased_session_leaves_amounts_of_days_only(session: Session) -> None:
    converse(session)
    count()
    delete_session_row(Session.objects.filter(pk=session.pk))
    assert not (SessionFigures.objects.exists() or Failure.objects.exists())
    assert amounts(DayMetric.TOKENS) == {"clerk": 2220}


def test_old_days_are_deleted(person: User) -> None:
    today = local_day()
    for age in (30, 61, 401):
        ActiveDay.objects.create(user=person, day=today - timedelta(days=age))
        DayFigure.objects.create(app_name="shop", metric=DayMetric.CALLS, day=today - timedelta(days=age))
    delete_old_days()
    assert (ActiveDay.objects.count(), DayFigure.objects.count()) == (1, 2)


def test_like_errors_have_one_cause_without_numbers_and_names() -> None:
    causes = {
        cause_of(f"File 'report-{n}.pdf' of order {n} has no page 0x{n:x}f.\nTraceback") for n in (7, 1001)
    }
    assert causes == {"File … of order # has no page #."}
    assert cause_of("") == ""


def test_a_percentile_is_at_most_a_fifth_too_high() -> None:
    counts: dict[str, float] = {}
    for n in range(1, 1001):
        counts[bucket_of(n / 100)] = counts.get(bucket_of(n / 100), 0) + 1
    for share in (0.5, 0.95):
        found = percentile(counts, share)
        assert found is not None and share * 10 <= found <= share * 10 * 1.2
    assert percentile({}, 0.5) is None and bucket_of(-1) == bucket_of(0)


@pytest.fixture
def sample(settings: Any) -> Iterator[None]:
    settings.DEV = True
    call_command("adk_sample_data", events=300, stdout=StringIO())
    yield


@pytest.mark.usefixtures("sample")
def test_the_figures_of_all_sessions_are_the_sums_over_their_events() -> None:
    count()
    events = [event for session in Session.objects.all() for event in session.events.all()]
    tokens = sum((event.prompt_tokens or 0) + (event.output_tokens or 0) for event in events)
    assert (
        sum(amounts(DayMetric.TOKENS).values())
        == tokens
        == sum(SessionFigures.objects.values_list("tokens", flat=True))
    )
    assert sum(amounts(DayMetric.INVOCATIONS).values()) == Invocation.objects.count()


COUNTED: tuple[type[Model], ...] = (SessionFigures, DayFigure, Failure, ActiveDay, EventWords)


def counted_rows() -> dict[str, list[str]]:
    """Return the rows of the figures without the times and keys of their counting."""
    left_out = {"id", "counted_at", "event_id"}
    found = {}
    for model in COUNTED:
        rows = [
            {name: row[name] for name in row.keys() - left_out} for row in model._default_manager.values()
        ]
        for row in rows:
            if "amount" in row:  # The last digits of a sum depend on the order.
                row["amount"] = round(row["amount"], 9)
        found[model.__name__] = sorted(str(sorted(row.items())) for row in rows)
    return found


@pytest.mark.django_db(transaction=True)
def test_sample_data_of_several_connections_are_those_of_one_and_counted_as_the_sweep_counts(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEV = True
    monkeypatch.setattr(adk_sample_data, "SESSIONS_PER_BATCH", 20)  # three batches
    monkeypatch.setattr(batches, "BATCH_SIZE", 7)
    began = timezone.now()
    monkeypatch.setattr(adk_sample_data, "now", lambda: began)
    hashes, figures = [], []
    for connections in (2, 1):
        call_command("adk_sample_data", events=600, connections=connections, stdout=StringIO())
        call_command("adk_verify", stdout=StringIO())
        hashes.append(list(Event.objects.order_by("session", "seq").values_list("session", "text", "hash")))
        figures.append(counted_rows())
        if connections == 2:
            for session in Session.objects.all():
                delete_session_row(Session.objects.filter(pk=session.pk))
            DayFigure.objects.all().delete()
            ActiveDay.objects.all().delete()
    for model in COUNTED:
        model._default_manager.all().delete()
    recount_all_sessions()
    count()
    assert len(hashes[0]) == 600 and hashes[0] == hashes[1]
    assert figures[0] == figures[1] == counted_rows()
    assert figures[0]["EventWords"] and figures[0]["Failure"]

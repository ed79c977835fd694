"""End of a case and of its evaluation, cancellation of an evaluation, and the wait for its end."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from sessions_app.models import CaseStatus, EvaluatedCase, Evaluation

CHANNEL = "adk_evaluation"


def end_case(case: EvaluatedCase, status: CaseStatus, **values: Any) -> None:
    """Write the result of an attempt, unless another attempt has begun, and end the evaluation with its last case.

    Raises:
        DatabaseError: nothing is written; the sweep queues the case again.
    """
    with transaction.atomic():
        # Without this lock, the last two cases could end at the same time, neither would see the other's end, and the
        # evaluation would stay open.
        Evaluation.objects.select_for_update().filter(pk=case.evaluation_id).first()
        # The number of the attempt is a fencing token: a worker that was taken for dead must not write over its
        # successor.
        attempt = EvaluatedCase.objects.filter(pk=case.pk, status=CaseStatus.RUNNING, attempts=case.attempts)
        if attempt.update(status=status, finished_at=Now(), **values):
            end_if_complete(case.evaluation_id)


def cancel_evaluation(evaluation_id: UUID) -> None:
    """Cancel the active cases. Their workers stop at the next heartbeat; queued tasks find nothing to do."""
    with transaction.atomic():
        Evaluation.objects.select_for_update().filter(pk=evaluation_id).first()
        active = EvaluatedCase.objects.filter(evaluation=evaluation_id, status__in=CaseStatus.active())
        lock_cases(active)
        if active.update(status=CaseStatus.CANCELLED, finished_at=Now()):
            end_if_complete(evaluation_id)


def lock_cases(cases: QuerySet[EvaluatedCase]) -> None:
    """Lock the rows in the order of their keys. Without an order, two transactions could deadlock."""
    # An UPDATE locks its rows in any order.
    list(cases.select_for_update(no_key=True).order_by("pk").values_list("pk"))


def end_if_complete(evaluation_id: UUID) -> None:
    """End the evaluation if it has no active case. In any case notify the waiting processes."""
    cases = EvaluatedCase.objects.filter(evaluation=evaluation_id)
    if not cases.filter(status__in=CaseStatus.active()).exists():
        counts = cases.aggregate(
            **{status.value: Count("pk", filter=Q(status=status)) for status in CaseStatus.ended()}
        )
        Evaluation.objects.open().filter(pk=evaluation_id).update(finished_at=Now(), **counts)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(evaluation_id)])


def wait_for_end(evaluation_id: UUID, look_seconds: float) -> Iterator[Evaluation]:
    """Yield the evaluation now, after the end of each case, and at least every `look_seconds`, until its end.

    PostgreSQL sends a notification at the commit of each end.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    try:
        while True:
            # Read after LISTEN, and at intervals: an end before LISTEN has no notification, and a connection pooler
            # may drop notifications.
            evaluation = Evaluation.objects.get(pk=evaluation_id)
            yield evaluation
            if evaluation.finished_at is not None:
                return
            for news in connection.connection.notifies(timeout=look_seconds):
                if news.payload == str(evaluation_id):
                    break
    finally:
        # The connection still listens on the channel.
        connection.close()

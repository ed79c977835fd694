"""Contract: changes of several cases of an evaluation at once wait for each other, and none is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from django.db import connection

from sessions_app.contrib.evaluation.end import cancel_evaluation
from sessions_app.contrib.evaluation.start import send_cases
from sessions_app.models import EvaluatedCase, Evaluation
from sessions_app.process.threads import in_thread
from tests.integration.contrib.evaluation.workers import begin, case_of
from tests.integration.locks import blocked, held

pytestmark = pytest.mark.django_db(transaction=True)
BY_INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off"
"""Has PostgreSQL change rows in the order of the index that finds them, as it does in a large table."""
AS_BEFORE = "RESET enable_seqscan; RESET enable_bitmapscan"
"""The pool gives the session to other tests."""


def in_own_session(change: Callable[[], None]) -> None:
    """Make a change by a database session of its own."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(BY_INDEX)
            change()
            cursor.execute(AS_BEFORE)
    finally:
        connection.close()


async def test_cases_are_sent_while_their_evaluation_is_cancelled(sent: list[int]) -> None:
    evaluation = await in_thread(begin, case_of("b", "Hello", "Hello"), case_of("a", "Hello", "Hello"))
    first, second = await in_thread(lambda: list(EvaluatedCase.objects.order_by("pk")))
    for status in (
        "running",
        "queued",
    ):  # The first row goes behind the other one, in each index but that of keys.
        await EvaluatedCase.objects.filter(pk=first.pk).aupdate(status=status)
    async with held(f"UPDATE sessions_app_evaluatedcase SET error = '' WHERE id = {first.pk}"):
        sending = asyncio.to_thread(in_own_session, lambda: send_cases([first, second]))
        cancelling = asyncio.to_thread(in_own_session, lambda: cancel_evaluation(evaluation.pk))
        changes = [asyncio.create_task(sending)]
        await blocked(1)
        changes.append(asyncio.create_task(cancelling))
        await blocked(2)
    await asyncio.gather(*changes)
    ended = await Evaluation.objects.aget()
    assert (ended.cancelled, ended.finished_at is not None) == (2, True)
    assert [case.sends async for case in EvaluatedCase.objects.all()] == [2, 2]

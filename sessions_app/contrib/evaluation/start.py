"""Start of an evaluation: its row, the rows of its cases, and a Celery task for each case."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from pydantic import BaseModel

from runtime.errors import EvaluationError
from runtime.evaluation.eval_case import EvalCase
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import check_eval_set
from runtime.evaluation.metrics import metrics_of
from runtime.valid_text import storable_values
from sessions_app.agent_apps.registry import get_app
from sessions_app.base.codec import parse_uuid
from sessions_app.contrib.evaluation.end import lock_cases
from sessions_app.models import EvaluatedCase, Evaluation
from sessions_app.process.celery_dispatch import JOB_QUEUE

logger = logging.getLogger(__name__)
EVALUATE_CASE = "sessions_app.evaluate_case"
LAST = 9
"""Lowest priority with Redis as broker: cases run after all jobs of users."""
_LOCK_SESSIONS = "SELECT id FROM sessions_app_session WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"


def start_evaluation(app_name: str, eval_set: EvalSet, config: EvalConfig) -> Evaluation:
    """Store an evaluation of the app and send its cases to workers.

    A case with the id of a session is a copy of this conversation, and is erased with the session. Cases of erased
    conversations are left out.

    Raises:
        NotFoundError: the site has no such app.
        EvaluationError: a criterion or the set is invalid, and the message names the field; or no case is left.
    """
    app = get_app(app_name)
    metrics_of(config)
    check_eval_set(eval_set)
    runs = Evaluation.objects.filter(app_name=app.name, set_id=eval_set.eval_set_id)
    with transaction.atomic():
        # The lock keeps an erasure from running between the check and the insertion of the copies.
        sessions = _locked_sessions(eval_set.eval_cases)
        cases = [case for case in eval_set.eval_cases if case.eval_id in sessions or not _is_recorded(case)]
        if not cases:
            raise EvaluationError("eval_cases: the conversations of all cases were erased. Choose others.")
        evaluation = Evaluation.objects.create(
            app_name=app.name,
            set_id=eval_set.eval_set_id,
            config=as_values(config),
            case_count=len(cases),
            # Fixed at the start: later evaluations of the set do not change the comparison of this one.
            previous=runs.completed().first(),
        )
        rows = EvaluatedCase.objects.bulk_create(
            EvaluatedCase(
                evaluation=evaluation,
                position=number,
                eval_id=case.eval_id,
                session_id=sessions.get(case.eval_id),
                case=as_values(case),
            )
            for number, case in enumerate(cases, 1)
        )
    send_cases(rows)
    return evaluation


def send_cases(cases: Sequence[EvaluatedCase]) -> None:
    """Send cases to the broker. If it is down, the sweep sends them. Safe to repeat: a case is claimed once."""
    sent = []
    try:
        for case in cases:
            send_case(case.pk)
            sent.append(case.pk)
    except Exception:
        logger.warning("Cases could not be sent to a worker; the sweep sends them", exc_info=True)
    # After the sending: a case that is sent twice is harmless, a case that is marked and not sent would wait long.
    rows = EvaluatedCase.objects.filter(pk__in=sent)
    with transaction.atomic():
        lock_cases(rows)
        rows.update(sent_at=Now(), sends=F("sends") + 1)


def send_case(case_id: int) -> None:
    """Send a case to the broker, behind all jobs of users."""
    current_app.send_task(EVALUATE_CASE, args=[case_id], queue=JOB_QUEUE, priority=LAST, ignore_result=True)


def as_values(model: BaseModel) -> Any:
    """Return a model as values for a jsonb column, without NUL and lone surrogates; NaN becomes null."""
    return storable_values(model.model_dump(mode="json", exclude_none=True))


def _locked_sessions(cases: Iterable[EvalCase]) -> dict[str, UUID]:
    """Return the sessions of the cases by eval id, locked until the end of the transaction."""
    ids = {case.eval_id: found for case in cases if (found := parse_uuid(case.eval_id))}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_SESSIONS, [list(ids.values())])
        known = {pk for (pk,) in cursor.fetchall()}
    return {eval_id: found for eval_id, found in ids.items() if found in known}


def _is_recorded(case: EvalCase) -> bool:
    """Return True for a copy of a conversation of the site."""
    return bool(case.session_input and case.session_input.user_id and parse_uuid(case.eval_id))

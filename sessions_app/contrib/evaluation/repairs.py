"""Repairs and retention of evaluations.

The sweep sends due cases, queues lost cases again, and ends evaluations whose last open case is gone. Housekeeping
deletes old evaluations.
"""

from datetime import timedelta

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery, Window
from django.db.models.functions import Now, RowNumber

from sessions_app.conf import conf
from sessions_app.contrib.evaluation.end import end_case, end_if_complete
from sessions_app.contrib.evaluation.start import send_cases
from sessions_app.models import CaseStatus, EvaluatedCase, Evaluation
from sessions_app.process.sweeping import OverdueRows, Repair, waits_to_be_sent

MAX_ATTEMPTS = 3
KEPT_RUNS = 100
"""Number of evaluations kept for each eval set of an app."""


def evaluation_repairs() -> list[Repair]:
    return [
        OverdueRows(_lost, _recover),
        OverdueRows(_to_send, lambda case: send_cases([case])),
        OverdueRows(_without_end, lambda evaluation: end_if_complete(evaluation.pk)),
    ]


def delete_old_evaluations() -> None:
    """Delete all but the newest `KEPT_RUNS` evaluations of each eval set of an app, with their cases.

    Keeps the last completed evaluation, too: the next evaluation is compared with it.
    """
    place = Window(RowNumber(), partition_by=["app_name", "set_id"], order_by=[F("created_at").desc(), "-pk"])
    of_same_set = Evaluation.objects.filter(app_name=OuterRef("app_name"), set_id=OuterRef("set_id"))
    last = Subquery(of_same_set.completed().values("pk")[:1])
    old = Evaluation.objects.annotate(place=place, last=last).filter(place__gt=KEPT_RUNS)
    keys = [pk for pk, last_pk in old.values_list("pk", "last") if pk != last_pk]
    Evaluation.objects.filter(pk__in=keys).delete()


def _lost() -> QuerySet[EvaluatedCase]:
    """Return the running cases without a recent heartbeat."""
    silence = timedelta(seconds=conf().job_lost_seconds)
    cases = EvaluatedCase.objects.filter(status=CaseStatus.RUNNING, heartbeat_at__lt=Now() - silence)
    return cases.only("evaluation_id", "attempts").order_by("pk")


def _recover(case: EvaluatedCase) -> None:
    """Queue a lost case again; end it as broken after `MAX_ATTEMPTS`."""
    if case.attempts >= MAX_ATTEMPTS:
        end_case(case, CaseStatus.BROKEN, error=f"The worker died in attempt {case.attempts}.")
        return
    # The conditions again, in the UPDATE: a late heartbeat or another sweep may have come first.
    again = _lost().filter(pk=case.pk, attempts=case.attempts)
    if again.update(status=CaseStatus.QUEUED, sent_at=None, sends=0):
        send_cases([case])


def _to_send() -> QuerySet[EvaluatedCase]:
    queued = EvaluatedCase.objects.filter(status=CaseStatus.QUEUED).only("pk").order_by("pk")
    return queued.filter(waits_to_be_sent("evaluation__created_at"))


def _without_end() -> QuerySet[Evaluation]:
    """Return open evaluations without an active case. The last active case was erased with its conversation."""
    active = EvaluatedCase.objects.filter(evaluation=OuterRef("pk"), status__in=CaseStatus.active())
    return Evaluation.objects.open().filter(~Exists(active)).order_by("created_at")

"""Deletion of old evaluations."""

from __future__ import annotations

from django.db.models import F, OuterRef, Subquery, Window
from django.db.models.functions import RowNumber

from sessions_app.models import Evaluation

KEPT_RUNS = 100
"""Number of evaluations that are kept for each eval set of an app."""


def delete_old_evaluations() -> None:
    """Delete all but the newest `KEPT_RUNS` evaluations of each eval set of an app, with their cases.

    The last completed one is kept, too, because the next one is compared with it.
    """
    place = Window(RowNumber(), partition_by=["app_name", "set_id"], order_by=[F("created_at").desc(), "-pk"])
    of_same_set = Evaluation.objects.filter(app_name=OuterRef("app_name"), set_id=OuterRef("set_id"))
    last = Subquery(of_same_set.completed().values("pk")[:1])
    old = Evaluation.objects.annotate(place=place, last=last).filter(place__gt=KEPT_RUNS)
    keys = [pk for pk, last_pk in old.values_list("pk", "last") if pk != last_pk]
    Evaluation.objects.filter(pk__in=keys).delete()

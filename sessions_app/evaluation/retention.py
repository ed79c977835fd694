"""Deletion of old evaluations."""

from __future__ import annotations

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from sessions_app.models import Evaluation

KEPT_RUNS = 100
"""Number of evaluations that are kept for each eval set of an app."""


def delete_old_evaluations() -> None:
    """Delete all but the newest `KEPT_RUNS` evaluations of each eval set of an app, with their cases."""
    place = Window(RowNumber(), partition_by=["app_name", "set_id"], order_by=[F("created_at").desc(), "-pk"])
    old = Evaluation.objects.annotate(place=place).filter(place__gt=KEPT_RUNS)
    Evaluation.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()

"""Evaluation: a run of an app against an eval set, and the cases of the set with their results."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.base.statuses import CaseStatus


class EvaluationQuerySet(models.QuerySet["Evaluation"]):
    """Evaluations by their end."""

    def open(self) -> Self:
        """Return the evaluations with active cases."""
        return self.filter(finished_at__isnull=True)

    def completed(self) -> Self:
        """Return the ended evaluations without a cancelled case, the latest first."""
        return self.filter(finished_at__isnull=False, cancelled=0).order_by("-finished_at")


class Evaluation(models.Model):
    """A run of an app against an eval set.

    Attributes:
        set_id: id of the eval set. Evaluations of the same app and set id are compared.
        config: the criteria, as an `EvalConfig` in JSON.
        previous: the last completed evaluation when this evaluation began.
        finished_at: end of the last case; None before. The numbers of cases by status are written with it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    app_name = models.CharField(max_length=128)
    set_id = models.CharField(max_length=200)
    config = models.JSONField()
    case_count = models.PositiveIntegerField()
    # The housekeeping deletes old evaluations: a newer one then has nothing to compare with.
    previous = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    passed = models.PositiveIntegerField(db_default=0)
    failed = models.PositiveIntegerField(db_default=0)
    broken = models.PositiveIntegerField(db_default=0)
    cancelled = models.PositiveIntegerField(db_default=0)

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        permissions = [
            ("cancel_evaluation", "Can stop evaluation"),
            ("run_evaluation", "Can run evaluations and write eval sets"),
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="evaluation_by_age"),
            models.Index(fields=["app_name", "set_id", "-finished_at"], name="evaluation_of_set"),
            models.Index(
                fields=["created_at"], condition=Q(finished_at__isnull=True), name="evaluation_open"
            ),
        ]

    def __str__(self) -> str:
        return f"evaluation {self.pk}"

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of the ended cases by their status; no zeros."""
        numbers = {status.value: int(getattr(self, status)) for status in CaseStatus.ended()}
        return {status: number for status, number in numbers.items() if number}


class EvaluatedCase(models.Model):
    """A case of an evaluation.

    Attributes:
        session: session of which the case is a copy, if any; the case is erased with the session.
        case: the `EvalCase` in JSON.
        actual: the invocations of this run, in JSON.
        results: a `MetricResult` in JSON for each criterion.
        error: reason why the case is broken, for staff; `error_detail` is for staff with the permission
            `view_error_detail`.
        sends: number of messages to the broker; `sent_at` is the time of the last.
    """

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="cases")
    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, null=True, related_name="+")
    position = models.PositiveIntegerField()
    eval_id = models.CharField(max_length=200)
    case = models.JSONField()
    status = models.CharField(max_length=16, choices=CaseStatus.choices, db_default="queued")
    attempts = models.PositiveIntegerField(db_default=0)
    actual = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    results = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    error = models.TextField(blank=True, db_default="")
    error_detail = models.TextField(blank=True, db_default="")
    sends = models.PositiveIntegerField(db_default=0)
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "eval_id"], name="evaluated_case_once"),
        ]
        indexes = [
            models.Index(
                fields=["evaluation"],
                # Each end of a case asks whether an open case is left; sets may have many cases.
                condition=Q(status__in=("queued", "running")),
                name="evaluated_case_open",
            ),
        ]

    def __str__(self) -> str:
        return f"case {self.eval_id}"

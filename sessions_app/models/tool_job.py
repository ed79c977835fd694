"""ToolJob: a long-running function call that a Celery worker does."""

from __future__ import annotations

import uuid
from math import isfinite

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class JobStatus(models.TextChoices):
    """queued -> running -> succeeded | failed | cancelled; running -> waiting, for a person -> queued."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED)


class ToolJob(models.Model):
    """One call's work.

    Attributes:
        call_id: the function call that it answers; one job answers one call, once.
        task_name: the Celery task.
        progress_done: of `progress_total`, in the task's own units; a total of 0, or not finite, means unknown.
        run_at: when it may begin; None is at once.
        sent_at: when the broker took it, or is to give it to a worker for the next attempt; a sweeper sends what has
            none, and what is not begun long after.
        worker: the process that is, or was last, at it: see `sessions_app.jobs.run.process_name`.
        heartbeat_at: when the worker was last heard of.
        artifacts: the files that it saved, {filename: version}.
        question: what it asks the person while it waits: the fields of `sessions_app.jobs.questions.JobQuestion`.
        answers: the questions that were answered, in order, each with its `answer`, `by` whom, and when (`at`).
        cancel_requested_at: when someone asked to stop it; `cancelled_by` and `cancel_reason` say who and why.
        delivered_at: when its answer was queued as an invocation of the session.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="jobs")
    invocation_id = models.CharField(max_length=64)
    call_id = models.CharField(max_length=128)
    tool_name = models.CharField(max_length=128)
    task_name = models.CharField(max_length=255)
    agent_name = models.CharField(max_length=128)
    args = models.JSONField(default=dict)
    status = models.CharField(max_length=16, choices=JobStatus.choices, db_default="queued")
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    progress_done = models.FloatField(default=0, db_default=0)
    progress_total = models.FloatField(default=0, db_default=0)
    progress_message = models.CharField(max_length=500, blank=True, default="", db_default="")
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="", db_default="")
    artifacts = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    question = models.JSONField(null=True, blank=True)
    answers = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    worker = models.CharField(max_length=200, blank=True, default="", db_default="")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancel_reason = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    run_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One job for a call; what is not at its end is found by an index of its own."""

        permissions = [("cancel_tooljob", "Can stop tool job")]
        constraints = [models.UniqueConstraint(fields=["session", "call_id"], name="tool_job_unique_call")]
        indexes = [
            models.Index(fields=["session", "created_at"], name="tool_job_of_session"),
            models.Index(fields=["created_at"], condition=Q(delivered_at__isnull=True), name="tool_job_open"),
            models.Index(fields=["heartbeat_at"], condition=Q(status="running"), name="tool_job_running"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.status}"

    @property
    def percent(self) -> int | None:
        """How far it is, 0 to 100; None when the task does not know."""
        if self.status == JobStatus.SUCCEEDED:
            return 100
        if not self.progress_total or not isfinite(self.progress_total) or not isfinite(self.progress_done):
            return None
        return round(100 * max(0.0, min(1.0, self.progress_done / self.progress_total)))

    @property
    def is_put_off(self) -> bool:
        """Whether it waits for its time."""
        is_begun = self.sent_at is not None or self.started_at is not None
        return self.status == JobStatus.QUEUED and self.run_at is not None and not is_begun

    @property
    def is_at_work(self) -> bool:
        """Whether it runs, or will, and so can be stopped."""
        return not self.is_finished

    @property
    def is_finished(self) -> bool:
        """Whether there is a result, an error, or a stop."""
        return self.status in FINISHED

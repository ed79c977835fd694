"""ToolJob: the execution of a long-running function call by a Celery worker.

    queued --claim--> running --> succeeded | failed
      ^                 |  |
      |-- worker lost --'  '--question--> waiting --answer--> queued

An open job (queued, running or waiting) can be cancelled. An ended job is undelivered until its answer is queued as an
invocation of the session, in a later transaction; the sweep delivers the answer if the worker dies between the two.
"""

import uuid
from math import isfinite
from typing import Self

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH
from sessions_app.base.statuses import JobStatus
from sessions_app.models.event import WordsOf
from sessions_app.models.past_attempts import PastAttemptsField
from sessions_app.models.scheduled_task import END_OF_CALENDAR

MAX_LISTED_JOBS = 50


class ToolJobQuerySet(models.QuerySet["ToolJob"]):
    """Jobs by the sets of statuses in `sessions_app.base.statuses`, and by delivery."""

    def idle(self) -> Self:
        """Return queued and waiting jobs."""
        return self.filter(status__in=JobStatus.idle())

    def open(self) -> Self:
        """Return queued, running and waiting jobs."""
        return self.filter(status__in=JobStatus.open())

    def of_attempt(self, job: "ToolJob") -> Self:
        """Return the job, unless its attempt is over: after a pause of this process another may have claimed it."""
        return self.filter(pk=job.pk, status=JobStatus.RUNNING, attempts=job.attempts)

    def ended(self) -> Self:
        """Return jobs with a result, an error or a cancellation."""
        return self.filter(status__in=JobStatus.ended())

    def undelivered(self) -> Self:
        """Return jobs whose answer is not queued as an invocation yet, including all open jobs."""
        return self.filter(delivered_at__isnull=True)

    def at_work(self) -> Self:
        """Return undelivered jobs that wait neither for an answer nor for `run_at`."""
        delayed = Q(status=JobStatus.QUEUED, run_at__isnull=False, sent_at=None, started_at=None)
        return self.undelivered().exclude(delayed | Q(status=JobStatus.WAITING))

    def open_and_recent(self) -> Self:
        """Return at most `MAX_LISTED_JOBS` jobs without arguments and results: open jobs, then the last ended jobs."""
        newest = F("finished_at").desc(nulls_first=True)
        return self.defer("result", "args").order_by(newest, "-created_at", "-pk")[:MAX_LISTED_JOBS]


class ToolJob(models.Model):
    """A job of a session.

    Attributes:
        call_id: function call to answer; a job answers one call, once.
        most_attempts: number of attempts after which the job is not tried again; 0 before its first retry.
        progress_done: progress in the task's own units, out of `progress_total`. The progress is unknown when the total
            is 0 or not finite.
        phases: phases of the current attempt in order, each with `name` and `at`, the time of its begin.
        run_at: earliest start; None for an immediate start.
        sends: number of messages to the broker since the last claim.
        sent_at: time at which the broker accepted the job, or will deliver it for the next attempt. The sweep sends
            jobs without this time, and jobs still not started long after it.
        worker: process of the current or last attempt: see `sessions_app.jobs.run.process_name`.
        past_attempts: earlier attempts with an error.
        lost_attempts: number of attempts whose worker died.
        heartbeat_at: time of the worker's last heartbeat.
        error: reason of a failure, for users and the model; `error_detail` is for staff with the permission
            `view_error_detail`.
        artifacts: versions of the files saved by the job, by filename.
        question: the open question while the job waits, with the fields of `sessions_app.jobs.questions.JobQuestion`.
        answers: the answered questions in order, each with `answer`, `by` (the user's name) and `at` (the time).
        cancel_requested_at: time of the first cancel request; `cancelled_by`, `cancelled_by_name` and
            `cancel_reason` belong to it. The name is kept when the account is deleted.
        delivered_at: time at which the job's answer was queued as an invocation of the session.
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
    past_attempts = PastAttemptsField()
    most_attempts = models.PositiveIntegerField(default=0, db_default=0)
    lost_attempts = models.PositiveIntegerField(default=0, db_default=0)
    progress_done = models.FloatField(default=0, db_default=0)
    progress_total = models.FloatField(default=0, db_default=0)
    progress_message = models.CharField(max_length=500, blank=True, default="", db_default="")
    phases = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="", db_default="")
    error_detail = models.TextField(blank=True, default="", db_default="", editable=False)
    artifacts = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    question = models.JSONField(null=True, blank=True)
    answers = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    worker = models.CharField(max_length=200, blank=True, default="", db_default="")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancelled_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    cancel_reason = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    run_at = models.DateTimeField(null=True, blank=True)
    sends = models.PositiveIntegerField(default=0, db_default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    objects = ToolJobQuerySet.as_manager()

    class Meta:
        permissions = [("cancel_tooljob", "Can stop tool job")]
        constraints = [
            models.UniqueConstraint(fields=["session", "call_id"], name="tool_job_unique_call"),
            models.CheckConstraint(condition=Q(run_at__lt=END_OF_CALENDAR), name="tool_job_readable_start"),
        ]
        indexes = [
            models.Index(fields=["session", "created_at"], name="tool_job_of_session"),
            # Partial: sweeps look for undelivered and running jobs every few seconds, and nearly all jobs are
            # delivered.
            models.Index(fields=["created_at"], condition=Q(delivered_at__isnull=True), name="tool_job_open"),
            models.Index(fields=["heartbeat_at"], condition=Q(status="running"), name="tool_job_running"),
            models.Index(fields=["-created_at", "-id"], name="tool_job_by_age"),
            models.Index(fields=["tool_name", "-created_at"], name="tool_job_of_tool"),
            models.Index(fields=["status", "-created_at"], name="tool_job_of_status"),
            models.Index(
                fields=["-created_at", "-id"], condition=Q(lost_attempts__gt=0), name="tool_job_lost"
            ),
            models.Index(fields=["call_id"], name="tool_job_by_call"),
            models.Index(fields=["invocation_id"], name="tool_job_by_invocation"),
            GinIndex(WordsOf("error"), condition=~Q(error=""), name="tool_job_error_parts"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.status}"

    @property
    def percent(self) -> int | None:
        """The progress from 0 to 100; None when it is unknown."""
        if self.status == JobStatus.SUCCEEDED:
            return 100
        # Tools report any float, so the sums may be infinite or NaN, which `round` refuses.
        if not self.progress_total or not isfinite(self.progress_total) or not isfinite(self.progress_done):
            return None
        return round(100 * max(0.0, min(1.0, self.progress_done / self.progress_total)))

    @property
    def is_delayed(self) -> bool:
        """True while the job waits for `run_at`."""
        # A delayed job is sent to the broker only when `run_at` has come.
        is_begun = self.sent_at is not None or self.started_at is not None
        return self.status == JobStatus.QUEUED and self.run_at is not None and not is_begun

    @property
    def is_stop_requested(self) -> bool:
        """True from the cancel request to the end."""
        return self.cancel_requested_at is not None and self.is_stoppable

    @property
    def is_stoppable(self) -> bool:
        """True while a cancel request has an effect."""
        return not self.is_ended

    @property
    def is_ended(self) -> bool:
        """True if the job has a result, an error or a cancellation."""
        return self.status in JobStatus.ended()

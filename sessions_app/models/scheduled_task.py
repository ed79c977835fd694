"""ScheduledTask: what an agent is to do at a time, once or again and again."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.timing import Recurrence, parse_recurrence, zone_of


class ScheduledTaskQuerySet(models.QuerySet["ScheduledTask"]):
    """Those that are to come."""

    def active(self) -> ScheduledTaskQuerySet:
        """Neither over nor cancelled, the next one first."""
        return self.filter(next_at__isnull=False).order_by("next_at", "id")

    def due(self) -> ScheduledTaskQuerySet:
        """Those whose time has come."""
        return self.active().filter(next_at__lte=Now())


class ScheduledTask(models.Model):
    """A task that is told to the agent of a session when its time has come.

    Attributes:
        invocation_id: in which it was scheduled; rewinding that cancels it.
        call_id: the function call that scheduled it; one call schedules once.
        task: what the agent is told.
        start_at: its first time, from which intervals are counted.
        next_at: its next time; None when it is over or cancelled.
        every: how it repeats, as `sessions_app.timing.parse_recurrence` reads it; empty when it does not.
        time_zone: on whose clocks.
        runs: how often its time has come: each is an invocation of the session.
        most_runs: after how many it is over; None when that is not limited.
        ends_at: nothing comes after this.
    """

    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="scheduled_tasks"
    )
    invocation_id = models.CharField(max_length=64)
    call_id = models.CharField(max_length=128)
    agent_name = models.CharField(max_length=128)
    task = models.TextField()
    start_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)
    every = models.CharField(max_length=200, blank=True, default="", db_default="")
    time_zone = models.CharField(max_length=64)
    runs = models.PositiveIntegerField(default=0, db_default=0)
    most_runs = models.PositiveIntegerField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    last_run_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = ScheduledTaskQuerySet.as_manager()

    class Meta:
        """A call schedules once; what is to come is found by an index of its own."""

        constraints = [
            models.UniqueConstraint(fields=["session", "call_id"], name="scheduled_task_unique_call")
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="scheduled_task_next"),
            models.Index(fields=["session", "next_at"], name="scheduled_task_of_session"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.task[:60]}"

    @property
    def status(self) -> str:
        """`active`, `cancelled` or `over`."""
        if self.cancelled_at is not None:
            return "cancelled"
        return "over" if self.next_at is None else "active"

    @property
    def recurrence(self) -> Recurrence | None:
        """How it repeats; None when it does not."""
        return parse_recurrence(self.every, zone_of(self.time_zone)) if self.every else None

    @property
    def how_often(self) -> str:
        """In words: "once", "every weekday at 09:00"."""
        recurrence = self.recurrence
        return recurrence.words if recurrence else "once"

    def time_after(self, moment: datetime) -> datetime | None:
        """Its next time once it has come at `moment`, which counts as one however many were missed; None at its end."""
        recurrence = self.recurrence
        if recurrence is None or (self.most_runs is not None and self.runs + 1 >= self.most_runs):
            return None
        following = recurrence.next_after(moment, self.start_at)
        return None if self.ends_at is not None and following > self.ends_at else following

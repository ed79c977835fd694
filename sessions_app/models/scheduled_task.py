"""ScheduledTask: an instruction sent to an agent at a time, once or repeatedly."""

from datetime import UTC, datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext

from sessions_app.base.actors import NAME_LENGTH
from sessions_app.base.timing import Recurrence, parse_recurrence, zone_of
from sessions_app.errors import InvalidInputError

END_OF_CALENDAR = datetime(9000, 1, 1, tzinfo=UTC)
"""Limit of stored times: Python cannot convert times near the end of the year 9999 to every time zone."""


class ScheduledTaskQuerySet(models.QuerySet["ScheduledTask"]):
    """Scheduled tasks by their next run."""

    def active(self) -> Self:
        """Return the tasks with a next run, in the order of these runs."""
        return self.filter(next_at__isnull=False).order_by("next_at", "id")

    def shown(self) -> Self:
        """Return the active tasks, and the failed tasks until somebody dismisses them."""
        # Dismissing a failed task cancels it.
        has_failed = ~Q(error="") & Q(cancelled_at__isnull=True)
        return self.filter(Q(next_at__isnull=False) | has_failed).order_by("next_at", "id")

    def due(self) -> Self:
        """Return the active tasks whose next run is due, except tasks of deactivated users and deleted sessions."""
        # `Now` is the clock of PostgreSQL: the clocks of machines differ. A deleted session can be restored, and its
        # tasks run then.
        return self.active().filter(
            next_at__lte=Now(), session__user__is_active=True, session__deleted_at=None
        )


class ScheduledTask(models.Model):
    """A task of a session; each run sends it to the agent as a new invocation.

    Attributes:
        invocation_id: invocation of the call; a rewind of this invocation cancels the task.
        call_id: function call for the schedule; a call schedules one task.
        task: the text for the agent.
        start_at: time of the first run, from which intervals are counted.
        next_at: time of the next run; None when the task is over, cancelled or failed.
        every: recurrence, as `sessions_app.base.timing.parse_recurrence` reads it; empty for a single run.
        time_zone: IANA name of the time zone of the recurrence.
        runs: number of runs so far.
        most_runs: number of runs after which the task is over; None without a limit.
        ends_at: time after which the task is not run; None without a limit.
        error: reason of a failed task, which is not run again; empty for all other tasks.
        cancelled_by_name: the name of `cancelled_by`, kept when the account is deleted.
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
    error = models.TextField(blank=True, default="", db_default="")
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancelled_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")

    objects = ScheduledTaskQuerySet.as_manager()

    class Meta:
        permissions = [("cancel_scheduledtask", "Can stop scheduled task")]
        constraints = [
            models.UniqueConstraint(fields=["session", "call_id"], name="scheduled_task_unique_call"),
            # Conversions of later times to a time zone may fail in Python: one such row would break every list with
            # it.
            models.CheckConstraint(
                condition=Q(
                    start_at__lt=END_OF_CALENDAR, next_at__lt=END_OF_CALENDAR, ends_at__lt=END_OF_CALENDAR
                ),
                name="scheduled_task_readable_times",
            ),
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="scheduled_task_next"),
            models.Index(fields=["session", "next_at"], name="scheduled_task_of_session"),
        ]

    def __str__(self) -> str:
        return f"scheduled task {self.pk}"

    @property
    def status(self) -> str:
        """`active`, `cancelled`, `failed` or `over`."""
        if self.cancelled_at is not None:
            return "cancelled"
        if self.error:
            return "failed"
        return "over" if self.next_at is None else "active"

    @property
    def is_stoppable(self) -> bool:
        """True while there is a next run."""
        return self.next_at is not None

    @property
    def recurrence(self) -> Recurrence | None:
        """The parsed recurrence; None for a single run.

        Raises:
            InvalidInputError: the recurrence or the time zone cannot be read.
        """
        if not self.every:
            return None
        return parse_recurrence(self.every, zone_of(self.time_zone))

    @property
    def how_often(self) -> str:
        """The recurrence in the active language; see `recurrence_in_words`."""
        return recurrence_in_words(self.every, self.time_zone)

    def time_after(self, moment: datetime) -> datetime | None:
        """Return the time of the run after the run at `moment`; None after the last run. Raise as `recurrence` does.

        All occurrences missed before `moment` count as one run.
        """
        recurrence = self.recurrence
        if recurrence is None or (self.most_runs is not None and self.runs + 1 >= self.most_runs):
            return None
        following = recurrence.next_after(moment, self.start_at)
        if self.ends_at is not None and following > self.ends_at:
            return None
        return following


def recurrence_in_words(every: str, time_zone: str) -> str:
    """Return a recurrence in the active language, such as "once" or "every weekday at 09:00"; never raise."""
    if not every:
        return gettext("once")
    try:
        return parse_recurrence(every, zone_of(time_zone)).words
    except InvalidInputError:
        values = {"rule": repr(every), "zone": time_zone}
        return gettext("by the unreadable rule %(rule)s in %(zone)s") % values

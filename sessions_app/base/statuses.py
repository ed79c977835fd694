"""Statuses of invocations, jobs, and cases of evaluations.

Three words name sets of statuses, in Python, SQL and JavaScript alike:

- open: not at its end; queued, running, or waiting for an answer.
- active: queued or running; a process works on it, or will without anyone's answer.
- ended: at its end; only a retry opens it again.

    queued ---> running ---> completed (invocation) or succeeded (job), failed, cancelled
      ^ ^          |
      | |          v
      | +------ waiting      an answer queues a job again, and completes an invocation
      |
      +-- retry of a failed invocation
"""

from collections.abc import Iterable

from django.db import models
from django.utils.translation import gettext_lazy, gettext_noop

JOB_CANCELLED = gettext_noop("The job was cancelled.")
"""Error of a job that its user cancelled."""


class InvocationStatus(models.TextChoices):
    """Status of an invocation: queued -> running -> completed | failed | cancelled | waiting.

    A waiting invocation is completed by the answer to its calls; a retry queues a failed invocation again.
    See the module for the meaning of `open`, `active` and `ended`.
    """

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @classmethod
    def active(cls) -> "tuple[InvocationStatus, ...]":
        """Return the statuses of a queued or running invocation."""
        return (cls.QUEUED, cls.RUNNING)

    @classmethod
    def open(cls) -> "tuple[InvocationStatus, ...]":
        """Return the statuses of an invocation before its end."""
        return (*cls.active(), cls.WAITING)

    @classmethod
    def ended(cls) -> "tuple[InvocationStatus, ...]":
        return (cls.COMPLETED, cls.FAILED, cls.CANCELLED)


class JobStatus(models.TextChoices):
    """Status of a job: queued -> running -> succeeded | failed | cancelled.

    A running job that asks the person something waits, and the answer queues it again: running -> waiting -> queued.
    See the module for the meaning of `open`, `active` and `ended`.
    """

    QUEUED = "queued", gettext_lazy("Queued")
    RUNNING = "running", gettext_lazy("Running")
    WAITING = "waiting", gettext_lazy("Waiting")
    SUCCEEDED = "succeeded", gettext_lazy("Succeeded")
    FAILED = "failed", gettext_lazy("Failed")
    CANCELLED = "cancelled", gettext_lazy("Cancelled")

    @classmethod
    def active(cls) -> "tuple[JobStatus, ...]":
        """Return the statuses of a queued or running job."""
        return (cls.QUEUED, cls.RUNNING)

    @classmethod
    def idle(cls) -> "tuple[JobStatus, ...]":
        """Return the statuses of an open job without a worker."""
        return (cls.QUEUED, cls.WAITING)

    @classmethod
    def open(cls) -> "tuple[JobStatus, ...]":
        """Return the statuses of a job before its end."""
        return (*cls.active(), cls.WAITING)

    @classmethod
    def ended(cls) -> "tuple[JobStatus, ...]":
        return (cls.SUCCEEDED, cls.FAILED, cls.CANCELLED)


class CaseStatus(models.TextChoices):
    """Status of a case of an evaluation: queued -> running -> passed | failed | broken | cancelled.

    A broken case has no result: an agent or a judge failed. The case of a dead worker is queued again. Active cases are
    cancelled with their evaluation.
    """

    QUEUED = "queued"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    BROKEN = "broken"
    CANCELLED = "cancelled"

    @classmethod
    def active(cls) -> "tuple[CaseStatus, ...]":
        """Return the statuses of a case before its end."""
        return (cls.QUEUED, cls.RUNNING)

    @classmethod
    def ended(cls) -> "tuple[CaseStatus, ...]":
        """Return the statuses of a case at its end; an evaluation keeps the number of cases with each."""
        return (cls.PASSED, cls.FAILED, cls.BROKEN, cls.CANCELLED)


def sql_list(statuses: Iterable[InvocationStatus | JobStatus]) -> str:
    """Return the right side of an SQL `IN` for the statuses."""
    quoted = ", ".join(f"'{status.value}'" for status in statuses)
    return f"({quoted})"

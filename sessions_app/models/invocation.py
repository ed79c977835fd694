"""Invocation: everything from one message to its final response, run by one process at a time."""

from typing import Self

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH
from sessions_app.base.statuses import InvocationStatus
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.models.event import WordsOf
from sessions_app.models.past_attempts import PastAttemptsField


class InvocationQuerySet(models.QuerySet["Invocation"]):
    """Invocations by the sets of statuses in `sessions_app.base.statuses`."""

    def active(self) -> Self:
        """Return queued and running invocations."""
        return self.filter(status__in=InvocationStatus.active())

    def without_details(self) -> Self:
        """Defer the columns needed only by the execution and by staff."""
        return self.defer("credentials", "error_detail")

    def open(self) -> Self:
        """Return queued, running and waiting invocations."""
        return self.filter(status__in=InvocationStatus.open())


class Invocation(ActorColumns):
    """An invocation of a session, with the actor who asked for the run.

    Attributes:
        client_id: name given by the client; a repetition starts nothing, see `client_ids`.
        message: the content to run, as JSON, without credentials.
        state_delta: changes of the state, committed with the message.
        reason: reason given by staff with an answer.
        credentials: the credentials of the message, encrypted by `secrets.credential_encryption`; emptied when the
            invocation ends.
        traceparent: trace context of the request for the invocation; empty without one.
        owner: name of the process with the claim.
        agent_version: version of the app in the process of the last claim, see `registry.versions`; empty before the
            first claim.
        error_code: reason of a failure, for programs; `error_message` is for users, and
            `error_detail` for staff with the permission `view_error_detail`. All stay during a retry.
        attempts: number of claims since the invocation was queued or retried; `past_attempts` has the attempts before a
            retry, and the attempts of processes that handed over or died.
        cancel_requested_at: time of the first cancel request; `cancelled_by`, `cancelled_by_name` and
            `cancel_reason` belong to it. The name is kept when the account is deleted.
    """

    session = models.ForeignKey(
        "sessions_app.Session",
        on_delete=models.DO_NOTHING,  # `adk_erase_session` deletes the invocations
        related_name="invocations",
        db_index=False,  # `invocation_unique_client_id` begins with it
    )
    invocation_id = models.CharField(max_length=64)
    client_id = models.CharField(max_length=160)
    message = models.JSONField()
    state_delta = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    reason = models.TextField(blank=True, default="", db_default="")
    credentials = models.TextField(blank=True, default="", db_default="", editable=False)
    traceparent = models.CharField(max_length=55, blank=True, default="", db_default="", editable=False)
    status = models.CharField(max_length=16, choices=InvocationStatus.choices, db_default="queued")
    owner = models.CharField(max_length=200, blank=True, default="", db_default="")
    agent_version = models.CharField(max_length=200, blank=True, default="", db_default="")
    attempts = models.PositiveIntegerField(default=0, db_default=0)
    past_attempts = PastAttemptsField()
    error_code = models.CharField(max_length=64, blank=True, default="", db_default="")
    error_message = models.TextField(blank=True, default="", db_default="")
    error_detail = models.TextField(blank=True, default="", db_default="", editable=False)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    cancelled_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    cancel_reason = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = InvocationQuerySet.as_manager()

    class Meta:
        permissions = [
            ("cancel_invocation", "Can stop invocation"),
            ("view_error_detail", "Can view details of errors of invocations and jobs"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["invocation_id"], name="invocation_unique_id"),
            # A client id sent twice starts nothing: the INSERT of the second request conflicts with this constraint.
            models.UniqueConstraint(fields=["session", "client_id"], name="invocation_unique_client_id"),
            # The last guard of the lease: whatever a process believes, two invocations of a session never run
            # together.
            models.UniqueConstraint(
                fields=["session"], condition=Q(status="running"), name="invocation_one_running"
            ),
        ]
        indexes = [
            models.Index(fields=["session", "id"], condition=Q(status="queued"), name="invocation_queued"),
            # Few rows have credentials, which an ended invocation loses.
            models.Index(
                fields=["created_at"], condition=~Q(credentials=""), name="invocation_with_credentials"
            ),
            models.Index(fields=["client_id"], name="invocation_by_client_id"),
            # For lists of a day with few invocations: in the order of their keys, all newer ones would be read.
            models.Index(fields=["created_at"], name="invocation_by_time"),
            models.Index(fields=["agent_version", "-id"], name="invocation_by_agent_version"),
            models.Index(
                fields=["cancelled_by"],
                # Replaces the index of the foreign key: it is used when an account is deleted, and most rows have no
                # canceller.
                condition=Q(cancelled_by__isnull=False),
                name="invocation_by_canceller",
            ),
            # Most rows are completed, so a list of them needs no index. Lists of any other status do.
            models.Index(
                fields=["status", "-id"], condition=~Q(status="completed"), name="invocation_not_completed"
            ),
            GinIndex(
                WordsOf("error_message"),
                condition=~Q(error_message=""),
                name="invocation_error_parts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.invocation_id} {self.status}"

    @property
    def is_stop_requested(self) -> bool:
        """True from the cancel request to the end."""
        return self.cancel_requested_at is not None and self.is_stoppable

    @property
    def is_stoppable(self) -> bool:
        """True while a cancel request of staff has an effect."""
        return self.status in InvocationStatus.open()

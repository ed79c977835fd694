"""Tombstone: the record of an erasure, without any of the erased content."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH


class ErasedKind(models.TextChoices):
    """Subjects of an erasure. `ACCESSES` are old records of what staff read, deleted by the housekeeping."""

    SESSION = "session"
    PERSON = "person"
    ACCESSES = "accesses"


class Tombstone(models.Model):
    """An erasure. The row is inserted with the first deletion, so an interrupted erasure leaves a trace.

    Attributes:
        subject_id: primary key of the erased session or user, or of the newest deleted access, as text.
        user_id: primary key of the user whose data was erased, as text, never a name; empty for accesses.
        counts: numbers of deleted rows by kind.
        finished_at: None while the erasure runs or after an interruption; another run completes the erasure.
        by: the user who asked for the erasure; None for the site itself and for a management command.
        by_name: name of the member of staff, kept when the account is deleted; empty if users erased their own data.
    """

    kind = models.CharField(max_length=16, choices=ErasedKind.choices)
    subject_id = models.CharField(max_length=64)
    user_id = models.CharField(max_length=64)
    counts = models.JSONField(default=dict)
    reason = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject_id"],
                condition=models.Q(finished_at__isnull=True),
                name="tombstone_one_unfinished",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"


class ErasedSession(models.Model):
    """A deleted log, inserted by the function of the database `adk_erase_session` with the deletion.

    Attributes:
        session_id: primary key of the erased session.
        tombstone: the erasure; None for a session deleted through the ADK API.
        hash: hash of the last event, with the number `last_seq`.
        acts: the newest acts in the session, each a list of time, kind of actor, act, tool and numbers among the
            arguments; of an act on the session, its kind of subject in place of numbers. No name and no word is kept.
    """

    session_id = models.UUIDField(db_index=True)
    tombstone = models.ForeignKey(
        Tombstone, on_delete=models.PROTECT, null=True, related_name="erased_sessions"
    )
    last_seq = models.BigIntegerField()
    hash = models.BinaryField(null=True)
    at = models.DateTimeField(db_default=Now())
    acts = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"erased session {self.session_id}"

"""LegalHold: an order of staff to erase nothing of a session or a user."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH


class LegalHoldQuerySet(models.QuerySet["LegalHold"]):
    """Holds in force, by session and by user."""

    def active(self) -> Self:
        return self.filter(lifted_at__isnull=True)

    def of_session(self, session_pk: object, user_pk: object) -> Self:
        """Return the active holds on the session or on its user."""
        # The owner comes from the caller's row: a hold on the user covers sessions that begin after it.
        return self.active().filter(Q(session_id=session_pk) | Q(user_id=user_pk))

    def of_user(self, user_pk: object) -> Self:
        """Return the active holds on the user or on any session of the user."""
        return self.active().filter(Q(user_id=user_pk) | Q(session__user_id=user_pk))


class LegalHold(models.Model):
    """A hold on one session or one user; a hold on a user covers all sessions of the user.

    A lifted hold is kept as a record until the session or the user is erased. Names of staff survive their accounts.
    """

    # `adk_erase_session` and `adk_erase_account` delete the lifted holds.
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.DO_NOTHING, related_name="legal_holds", null=True, blank=True
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, related_name="+", null=True, blank=True
    )
    reason = models.TextField()
    set_at = models.DateTimeField(db_default=Now())
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    set_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    lifted_at = models.DateTimeField(null=True, blank=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    lifted_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    lift_reason = models.TextField(blank=True, default="", db_default="")

    objects = LegalHoldQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        permissions = [("set_legalhold", "Can set legal hold"), ("lift_legalhold", "Can lift legal hold")]
        constraints = [
            models.CheckConstraint(
                condition=Q(session__isnull=True, user__isnull=False)
                | Q(session__isnull=False, user__isnull=True),
                name="legal_hold_one_subject",
                violation_error_message="Give a session or a user, not both.",
            )
        ]

    def __str__(self) -> str:
        subject = f"session {self.session_id}" if self.session_id else f"user {self.user_id}"
        return f"legal hold {self.pk} on {subject}"

"""ShareLink: a link by which users of the site read the session of another user."""

import secrets
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.base.actors import NAME_LENGTH

TOKEN_BYTES = 16
TOKEN_LENGTH = 22


def new_token() -> str:
    """Return a token of 128 random bits, as text for an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def active(self) -> Self:
        return self.filter(revoked_at=None)


class ShareLink(models.Model):
    """A read-only link to a session, made by the session's owner. A revoked link is kept as a record.

    Attributes:
        token: secret part of the address, in plain text.
        revoked_by_name: name of the revoking owner or member of staff at the time of the revocation.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="share_links")
    # Plain text: the owner copies the address again later, and a reader of this table can read the events, too.
    token = models.CharField(max_length=TOKEN_LENGTH, unique=True, default=new_token, editable=False)
    created_at = models.DateTimeField(db_default=Now())
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by_name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        default_permissions = ("view",)
        permissions = [("revoke_sharelink", "Can revoke share link")]
        constraints = [
            models.UniqueConstraint(
                fields=["session"], condition=Q(revoked_at=None), name="share_link_one_active"
            )
        ]

    def __str__(self) -> str:
        return f"share link {self.pk}"

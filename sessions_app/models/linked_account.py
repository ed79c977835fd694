"""LinkedAccount: an account of a user at another service, such as Slack, in which the user talks to agents."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class LinkedAccount(models.Model):
    """An account at another service that acts for a user of the site.

    Attributes:
        service: name of the service, such as `slack`.
        place: where the account is, such as the id of a workspace.
        account: id of the account in its place.
        name: name of the account for its user.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_linked_accounts"
    )
    service = models.CharField(max_length=32)
    place = models.CharField(max_length=64)
    account = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    linked_at = models.DateTimeField(db_default=Now())

    class Meta:
        """An account acts for one user."""

        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["service", "place", "account"], name="linked_account_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.service} {self.place} {self.account}"

"""SavedCredential: a credential of a user, for the tools of later invocations."""

from django.conf import settings
from django.db import models


class SavedCredential(models.Model):
    """A credential, encrypted. No page and no part of the admin shows it.

    Attributes:
        key: SHA-256 of the ADK credential key, which may be a text of any length.
        service: name of the service for the user, such as `mcp.example.com`; empty if it is not known.
        encrypted: the credential with its owner and key, by `sessions_app.secrets.credential_encryption`.
    """

    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_credentials"
    )
    key = models.CharField(max_length=64)
    service = models.CharField(max_length=200, blank=True, default="", db_default="")
    encrypted = models.TextField(editable=False)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "app_name", "key"], name="saved_credential_unique"),
        ]
        indexes = [models.Index(fields=["saved_at"], name="saved_credential_age")]

    def __str__(self) -> str:
        return f"{self.app_name} {self.user_id}"

"""Usage of the site by a user and by an API key, for the limits of both."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class PersonUsage(models.Model):
    """Sums of one user.

    Attributes:
        day: the last day on which the user used tokens, null before the first; `tokens` and `cost`
            are those of this day.
        artifact_bytes: size of all artifacts of the user; a trigger of their table keeps the sum.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="adk_usage"
    )
    day = models.DateField(null=True)
    tokens = models.BigIntegerField(default=0, db_default=0)
    cost = models.FloatField(default=0.0, db_default=0.0)
    artifact_bytes = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"usage of {self.user_id}"


class KeyUsage(models.Model):
    """Tokens of the invocations that an API key started, on the last day on which it started any."""

    key = models.OneToOneField(
        "sessions_app.ApiKey", on_delete=models.CASCADE, primary_key=True, related_name="usage"
    )
    day = models.DateField()
    tokens = models.BigIntegerField()

    def __str__(self) -> str:
        return f"usage of {self.key_id}"

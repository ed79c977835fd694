"""Usage of the site by a user and by an API key, for the limits of both."""

from django.conf import settings
from django.db import models


class PersonUsage(models.Model):
    """Sums of a user.

    Attributes:
        day: last day with model calls of the user, null before the first; `tokens` and `cost` are sums of this day.
        artifact_bytes: size of all artifacts of the user; a trigger of their table updates the sum.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="adk_usage"
    )
    # One row for each user, not for each day: limits ask only about today. A later day resets the sums.
    day = models.DateField(null=True)
    tokens = models.BigIntegerField(default=0, db_default=0)
    cost = models.FloatField(default=0.0, db_default=0.0)
    artifact_bytes = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"usage of {self.user_id}"


class KeyUsage(models.Model):
    """Tokens of the invocations of an API key on the last day with such invocations."""

    key = models.OneToOneField(
        "sessions_app.ApiKey", on_delete=models.CASCADE, primary_key=True, related_name="usage"
    )
    day = models.DateField()
    tokens = models.BigIntegerField()

    def __str__(self) -> str:
        return f"usage of {self.key_id}"

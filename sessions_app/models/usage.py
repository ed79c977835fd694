"""Usage of the site by a user and by an API key, for the limits of both."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from sessions_app.conf import conf


class PersonUsageQuerySet(models.QuerySet["PersonUsage"]):
    """Usage of users."""

    def at_their_limit(self) -> Self:
        """Return the rows of the users for whom no model makes vectors or finds facts before the next day."""
        site = conf()
        today = timezone.localdate(timezone=timezone.get_default_timezone())
        has_reached = Q(pk__in=[])
        if site.max_tokens_per_user:
            has_reached |= Q(tokens__gte=site.max_tokens_per_user)
        if site.max_cost_per_user:
            has_reached |= Q(cost__gte=site.max_cost_per_user)
        return self.filter(has_reached, day=today)


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

    objects = PersonUsageQuerySet.as_manager()

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

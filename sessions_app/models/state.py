"""State shared by sessions: of an app, and of a user in an app."""

from django.conf import settings
from django.db import models


class AppState(models.Model):
    """The `app:` state of an app."""

    app_name = models.CharField(max_length=128, primary_key=True)
    state = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))

    def __str__(self) -> str:
        return self.app_name


class UserState(models.Model):
    """The `user:` state of a user in an app."""

    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_states")
    state = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["app_name", "user"], name="user_state_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.app_name} {self.user_id}"

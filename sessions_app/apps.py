"""The Django app: conversations with agents, kept in PostgreSQL."""

from django.apps import AppConfig


class SessionsAppConfig(AppConfig):
    """Registers the checks."""

    name = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

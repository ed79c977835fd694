"""The Django app: conversations with agents, kept in PostgreSQL."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import register
from django.core.signals import setting_changed

from sessions_app.checks import check_agents
from sessions_app.conf import conf
from sessions_app.conf_checks import check_settings


class SessionsAppConfig(AppConfig):
    """Registers the checks."""

    name = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Check agents and settings wherever Django checks the site; alone with `manage.py check --tag agents`."""
        register(check_agents, "agents")
        register(check_settings, "agents")
        setting_changed.connect(_follow_setting)


def _follow_setting(setting: str, **kwargs: Any) -> None:
    """Read `settings.ADK` anew after a test has overridden it."""
    if setting == "ADK":
        conf.cache_clear()

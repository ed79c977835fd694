"""Django app configuration: registers the system checks, and gives the runtime the services of the site."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.core.checks import register
from django.core.signals import setting_changed
from pydantic import ValidationError

from runtime.models.rate_limit import set_model_rates
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.database_session_service import set_database_session_service
from runtime.tools.mcp_allow_list import set_allowed_mcp_servers
from sessions_app.agent_apps.checks.agents import check_agents
from sessions_app.agent_apps.checks.project import check_project
from sessions_app.agent_apps.checks.settings import check_settings
from sessions_app.agent_apps.registry import forget_registry
from sessions_app.conf import conf
from sessions_app.limits.model_rates import find_model_rate


class SessionsAppConfig(AppConfig):
    """Configuration of the sessions app."""

    name = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and signal receivers, and give the runtime the site's services and limits.

        `manage.py check --tag agents` runs only the checks of the agents and of `settings.ADK`.
        """
        register(check_agents, "agents")
        register(check_settings, "agents")
        register(check_project)
        setting_changed.connect(_follow_setting)
        _allow_mcp_servers()
        set_database_session_service(_new_session_service)
        set_model_rates(find_model_rate)
        import_module("sessions_app.data_protection.account")  # models can be imported from now on


def _follow_setting(setting: str, **kwargs: Any) -> None:
    """Drop what was read from `settings.ADK` or INSTALLED_APPS when a test overrides the setting."""
    if setting == "INSTALLED_APPS":
        forget_registry()
    if setting == "ADK":
        conf.cache_clear()
        _allow_mcp_servers()


def _new_session_service() -> BaseSessionService:
    service: BaseSessionService = import_module("sessions_app.services").DjangoSessionService()
    return service


def _allow_mcp_servers() -> None:
    """Tell the runtime which MCP servers agents may reach: none while the settings are invalid."""
    try:
        allowed = conf().mcp_servers
    except ValidationError:  # `check_settings` reports it
        allowed = ()
    set_allowed_mcp_servers(allowed)

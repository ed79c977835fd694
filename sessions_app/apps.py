"""Django app configuration.

The runtime knows neither Django nor `settings.ADK`. When Django is ready, this module gives it the site's session
service, rate limits and list of allowed MCP servers.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, register
from django.core.management import CommandError
from django.core.signals import setting_changed
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.signals import post_migrate, pre_migrate
from pydantic import ValidationError

from runtime.auth.auth_credential import OAuth2Auth
from runtime.models.rate_limit import set_model_rates
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.database_session_service import set_database_session_service
from runtime.tools.mcp_allow_list import set_allowed_mcp_servers
from runtime.tools.openapi_tool.auth.sign_in import set_oauth_clients
from sessions_app.agent_apps.checks.agents import check_agents
from sessions_app.agent_apps.checks.files import check_object_store, check_storage
from sessions_app.agent_apps.checks.project import check_project
from sessions_app.agent_apps.checks.settings import check_settings
from sessions_app.agent_apps.registry import forget_registry
from sessions_app.conf import conf
from sessions_app.limits.model_rates import find_model_rate

LAST_UNSQUASHED = "4ffc69a4"
"""Last commit with the migrations that `0001_initial` replaces."""


class SessionsAppConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and signal receivers, and give the runtime the site's services and limits.

        `manage.py check --tag agents` runs only the checks of the agents and of `settings.ADK`.
        """
        # The agents themselves are not loaded here: commands such as `migrate` must work when an agent is broken.
        register(check_agents, "agents")
        register(check_settings, "agents")
        register(check_project)
        register(check_storage)
        register(check_object_store, deploy=True)
        register(_check_vectors, Tags.database)
        register(_check_role_privileges, Tags.database, deploy=True)
        setting_changed.connect(_follow_setting)
        pre_migrate.connect(_refuse_old_database, sender=self)
        _allow_mcp_servers()
        set_database_session_service(_new_session_service)
        set_model_rates(find_model_rate)
        post_migrate.connect(_create_permissions, sender=self)
        post_migrate.connect(_prepare_vectors, sender=self)
        # Connects its signal receivers. Only here, because its models could not be imported before.
        import_module("sessions_app.data_protection.account")


def _follow_setting(setting: str, **kwargs: Any) -> None:
    """Drop cached values when a test overrides `settings.ADK` or INSTALLED_APPS."""
    if setting == "INSTALLED_APPS":
        forget_registry()
    if setting == "ADK":
        conf.cache_clear()
        _allow_mcp_servers()


def _new_session_service() -> BaseSessionService:
    service: BaseSessionService = import_module("sessions_app.store").DjangoSessionService()
    return service


def _create_permissions(**kwargs: Any) -> None:
    import_module("sessions_app.sessions.agent_access").create_permissions()


def _check_vectors(**kwargs: Any) -> list[CheckMessage]:
    # Imports models, which are not there when this module is imported.
    messages: list[CheckMessage] = import_module("sessions_app.agent_apps.checks.vectors").check_vectors(
        **kwargs
    )
    return messages


def _check_role_privileges(**kwargs: Any) -> list[CheckMessage]:
    module = import_module("sessions_app.agent_apps.checks.role_privileges")
    messages: list[CheckMessage] = module.check_role_privileges(**kwargs)
    return messages


def _prepare_vectors(**kwargs: Any) -> None:
    import_module("sessions_app.store.memory_vectors").prepare_vectors()


def _allow_mcp_servers() -> None:
    """Set the MCP servers that agents may reach, and the site's OAuth clients; none while the settings are invalid."""
    allowed: Sequence[str] | None = ()
    clients: Mapping[str, OAuth2Auth] = {}
    with suppress(ValidationError):  # `check_settings` reports it
        allowed = conf().mcp_servers
        clients = conf().oauth_clients
    set_allowed_mcp_servers(allowed)
    set_oauth_clients(clients)


def _refuse_old_database(using: str, **kwargs: Any) -> None:
    """Stop `migrate` on a database with only some of the migrations that `0001_initial` replaces.

    Raises:
        CommandError: the database lacks a replaced migration. The message names the remedy.
    """
    # Django would drop `0001_initial` from its plan without a warning.
    applied = MigrationRecorder(connections[using]).applied_migrations()
    initial = import_module("sessions_app.migrations.0001_initial").Migration
    missing = [name for app, name in initial.replaces if (app, name) not in applied]
    if missing and ("sessions_app", "0001_initial") in applied:
        raise CommandError(
            f"The database lacks the migration '{missing[0]}' of sessions_app, which this version has no more. "
            f"Run `manage.py migrate` with the code of commit {LAST_UNSQUASHED} first, then with this version."
        )

"""Access to agents: who may use which app of the site, by `ADK["access"]`.

A person without access still reads own conversations with the app. Conversations with a hidden app are not found: see
`sessions_app.models.session.of_shown_apps`.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission, PermissionsMixin
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from sessions_app.agent_apps import registry
from sessions_app.conf import EVERYONE, PERMISSION, conf
from sessions_app.errors import AgentClosedError
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import User, own_session

CODENAME_LENGTH = 100


def usable_names(user_pk: Any, names: Iterable[str]) -> list[str]:
    """Return the apps among `names` that the user may use now."""
    rules = {name: conf().access_of(name) for name in names}
    user = None
    if PERMISSION in rules.values():
        # Read anew: the object of an open socket keeps the permissions that its user had.
        user = get_user_model()._default_manager.filter(pk=user_pk).first()
    usable = []
    for name, rule in rules.items():
        if rule == EVERYONE or (rule == PERMISSION and _has_permission(user, name)):
            usable.append(name)
    return usable


async def usable_apps(user: User) -> dict[str, App]:
    """Return the apps that the user may use, by name."""
    apps = registry.apps()
    names = await in_thread(usable_names, user.pk, apps) if conf().closes_apps else apps
    return {name: apps[name] for name in names}


async def usable_app(user: User, app_name: str) -> App:
    """Return an app that the user may use.

    Raises:
        NotFoundError: the site has no such app, or the user may not use it.
    """
    return registry.get_app(app_name, await usable_apps(user))


async def may_use(user_pk: Any, app_name: str) -> bool:
    """True if the user may use the app now."""
    if conf().access_of(app_name) == EVERYONE:
        return True
    return bool(await in_thread(usable_names, user_pk, [app_name]))


async def require_use(user_pk: Any, app_name: str) -> None:
    """Refuse a user who may not use the app.

    Raises:
        AgentClosedError: the user may not use the app.
    """
    if not await may_use(user_pk, app_name):
        raise AgentClosedError


async def closed_agents(user_pk: Any, app_name: str) -> list[BaseAgent]:
    """Return the root agents of the apps that the user may not use while using this app.

    Raises:
        AgentClosedError: the user may not use the app itself.
    """
    if not conf().closes_apps:
        return []
    apps = registry.apps()
    usable = await in_thread(usable_names, user_pk, {*apps, app_name})
    if app_name not in usable:
        raise AgentClosedError
    return [app.root_agent for name, app in apps.items() if name not in usable]


async def own_usable_session(user: User, session_id: UUID) -> Session:
    """Return the user's session with an app that the user may use.

    Raises:
        NotFoundError: there is no such session, or it belongs to someone else.
        AgentClosedError: the user may not use the app.
    """
    session = await own_session(user, session_id)
    await require_use(user.pk, session.app_name)
    return session


def create_permissions() -> None:
    """Create the permissions to use apps, after `migrate`. Idempotent."""
    rules = conf().by_app("access")
    if rules[""] == PERMISSION:  # Only now: other sites migrate without loading their agents.
        rules |= {name: PERMISSION for name in registry.apps() if name not in rules}
    for name, rule in rules.items():
        if name and rule == PERMISSION:
            Permission.objects.get_or_create(
                content_type=ContentType.objects.get_for_model(Session),
                codename=_codename(name),
                defaults={"name": f"Can use the agent {name}"},
            )


def permission_to_use(app_name: str) -> QuerySet[Permission]:
    """Return the permission to use an app: one row, or none before `migrate`."""
    return Permission.objects.filter(content_type__app_label="sessions_app", codename=_codename(app_name))


def _has_permission(user: Any, app_name: str) -> bool:
    return isinstance(user, PermissionsMixin) and user.has_perm(f"sessions_app.{_codename(app_name)}")


def _codename(app_name: str) -> str:
    return f"use_{app_name}"[:CODENAME_LENGTH]

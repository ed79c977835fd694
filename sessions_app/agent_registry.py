"""The agents of a site: `agents.py` in any installed app (design.md, "Agents of a site")."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from types import ModuleType

from django.apps import apps as django_apps

from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from runtime.errors import ConfigurationError
from sessions_app.errors import NotFoundError


def discover() -> Iterator[tuple[str, App | Exception]]:
    """The name of every `agents.py`, in the order of INSTALLED_APPS, with its app or what it raised instead."""
    for config in django_apps.get_app_configs():
        module_name = f"{config.name}.agents"
        if find_spec(module_name) is not None:
            yield module_name, _load(module_name, config.label)


@lru_cache(maxsize=1)
def apps() -> dict[str, App]:
    """The apps by name, in the order of INSTALLED_APPS.

    Raises:
        ConfigurationError: an `agents.py` defines no app, or two define one name.
        Exception: what an `agents.py` raised when it was imported, as it is.
    """
    found: dict[str, App] = {}
    for module_name, app in discover():
        if isinstance(app, Exception):
            raise app
        if app.name in found:
            raise ConfigurationError(
                f"Two agents.py define an app {app.name!r}: {module_name} is the second. Rename one."
            )
        found[app.name] = app
    return found


def get_app(name: str) -> App:
    """An app by name.

    Raises:
        NotFoundError: there is none.
    """
    app = apps().get(name)
    if app is None:
        known = ", ".join(apps()) or "none; write an agents.py in an installed app"
        raise NotFoundError(f"There is no app {name!r}. The apps of this site: {known}.")
    return app


def _load(module_name: str, label: str) -> App | Exception:
    try:
        return _app_of(importlib.import_module(module_name), label)
    except Exception as error:  # noqa: BLE001 - raised by apps(), reported by the check
        return error


def _app_of(module: ModuleType, label: str) -> App:
    """`app = App(...)`, or ADK's `root_agent`, which makes an app named after the Django app."""
    names = vars(module)
    app, root_agent = names.get("app"), names.get("root_agent")
    if isinstance(app, App):
        return app
    if isinstance(root_agent, BaseAgent):
        return App(name=label, root_agent=root_agent)
    raise ConfigurationError(
        f"{module.__name__} defines no agent: write app = App(name=..., root_agent=...) or root_agent = Agent(...)."
    )

"""Registry of the site's apps: each installed Django app may define one in its `agents.py`."""

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

MOST_STARTERS = 4


def discover() -> Iterator[tuple[str, App | Exception]]:
    """Yield every `agents.py` module's name with its app, or with the error that loading it raised.

    The order is that of INSTALLED_APPS.
    """
    for config in django_apps.get_app_configs():
        module_name = f"{config.name}.agents"
        if find_spec(module_name) is not None:
            yield module_name, _load(module_name, config.label)


@lru_cache(maxsize=1)
def apps() -> dict[str, App]:
    """Return the apps by name, in the order of INSTALLED_APPS.

    Raises:
        ConfigurationError: an `agents.py` defines no app, or two define the same name.
        Exception: any error that importing an `agents.py` raised, unchanged.
    """
    by_name: dict[str, App] = {}
    for module_name, app in discover():
        if isinstance(app, Exception):
            raise app
        if app.name in by_name:
            raise ConfigurationError(
                f"Two agents.py define an app {app.name!r}; {module_name} is the second. Rename one."
            )
        by_name[app.name] = app
    return by_name


def get_app(name: str) -> App:
    """Return an app by name.

    Raises:
        NotFoundError: the site has no such app.
    """
    app = apps().get(name)
    if app is None:
        names = ", ".join(apps()) or "none; write an agents.py in an installed app"
        raise NotFoundError(f"There is no app {name!r}. The apps of this site: {names}.")
    return app


@lru_cache(maxsize=1)
def starters() -> dict[str, tuple[str, ...]]:
    """Return the messages that an empty chat offers, by the name of the app; `starters` of its `agents.py`."""
    return {
        app.name: tuple(getattr(importlib.import_module(module_name), "starters", ()))
        for module_name, app in discover()
        if isinstance(app, App)
    }


def _load(module_name: str, label: str) -> App | Exception:
    try:
        module = importlib.import_module(module_name)
        _check_starters(module)
        return _app_of(module, label)
    except Exception as error:  # noqa: BLE001 - apps() raises the error, the system check reports it
        return error


def _check_starters(module: ModuleType) -> None:
    given = getattr(module, "starters", [])
    is_list = isinstance(given, list | tuple) and all(isinstance(one, str) and one.strip() for one in given)
    if not is_list or len(given) > MOST_STARTERS:
        raise ConfigurationError(
            f"{module.__name__}: starters must be a list of at most {MOST_STARTERS} messages; it is {given!r:.200}."
        )


def _app_of(module: ModuleType, label: str) -> App:
    """Return the module's `app`, or an app for its `root_agent`, named after the Django app."""
    names = vars(module)
    app, root_agent = names.get("app"), names.get("root_agent")
    if isinstance(app, App):
        return app
    if isinstance(root_agent, BaseAgent):
        return App(name=label, root_agent=root_agent)
    raise ConfigurationError(
        f"{module.__name__} defines no agent: write app = App(name=..., root_agent=...) or root_agent = Agent(...)."
    )

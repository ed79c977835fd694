"""What is wrong with `settings.ADK`, as Django's system check tells it.

- E007  a setting is unknown, or has a value that cannot be used
- E008  settings are given for an app that no agents.py defines
- W002  what invocations cost is limited, but a model has no price
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from pydantic import ValidationError

from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import trees_of, walk
from runtime.apps.app import App
from sessions_app.agent_registry import discover
from sessions_app.conf import Conf, conf

HINT = "sessions_app/conf.py says what there is."


def check_settings(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """A system check: the problems of `settings.ADK`."""
    try:
        known = conf()
    except ValidationError as error:
        return list(_errors(error, "settings.ADK"))
    apps = {app.name: app for _, app in discover() if isinstance(app, App)}
    return [problem for name in {*apps, *known.apps} for problem in _problems_of_app(known, name, apps)]


def _problems_of_app(known: Conf, name: str, apps: dict[str, App]) -> Iterator[CheckMessage]:
    if name not in apps:
        said = f"settings.ADK['apps'] names {name!r}, which no agents.py defines."
        yield Error(said, hint=f"There are: {', '.join(sorted(apps)) or 'none'}.", id="sessions_app.E008")
        return
    try:
        of_app = known.of_app(name)
    except ValidationError as error:
        yield from _errors(error, f"settings.ADK['apps'][{name!r}]")
        return
    unpriced = sorted({model for model in _models(apps[name]) if of_app.price(model) is None})
    if of_app.invocation_cost and unpriced:
        said = f"What invocations of {name!r} cost is limited, but {', '.join(unpriced)} has no price."
        yield Warning(said, hint="Add it to settings.ADK['prices'].", id="sessions_app.W002")


def _models(app: App) -> Iterator[str]:
    for root in trees_of(app.root_agent):
        for agent in walk(root):
            if isinstance(agent, LlmAgent):
                yield agent.canonical_model.model


def _errors(error: ValidationError, place: str) -> Iterator[CheckMessage]:
    for detail in error.errors(include_url=False):
        path = "".join(f"[{step!r}]" for step in detail["loc"])
        yield Error(f"{place}{path}: {detail['msg']}.", hint=HINT, id="sessions_app.E007")

"""Django system check of `settings.ADK`.

- E007  a setting is unknown or has an invalid value
- E008  settings are given for an app that no agents.py or agent folder defines
- E015  no class of models supports the model of titles or of embeddings, or a model that people may choose
- E016  `a2a_apps` names an app that does not exist
- E017  `a2a_apps` names apps, but the package of A2A is not installed
- E018  `a2a_apps` names apps, but the Django app that serves them is not installed
- E019  a model of `embeddings` makes none
- I001  agents recall from memory, which finds words only: there are no `embeddings`
- W002  the cost of invocations or people is limited, but a model has no price
- W011  a setting has its earlier name
- W013  there are `embeddings`, but the package that searches them is not installed
- W014  another setting needs a package that is not installed
- W015  there are `slack_tokens`, but no Django app that serves Slack, or an agent of Slack does not exist
"""

from collections.abc import Collection, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from django.apps import apps as django_apps
from django.conf import settings as site_settings
from django.core.checks import CheckMessage, Info
from pydantic import ValidationError

from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import tools_of, walk_trees
from runtime.apps.app import App
from runtime.errors import how_to_install
from runtime.models.registry import LLMRegistry
from runtime.tools.load_memory_tool import LoadMemoryTool
from runtime.tools.preload_memory_tool import PreloadMemoryTool
from sessions_app.agent_apps.checks import check_error, check_warning
from sessions_app.agent_apps.registry import discover
from sessions_app.conf import RENAMED, Conf, conf
from sessions_app.errors import AgentFolderError

SLACK_APP = "sessions_app.contrib.slack"
A2A_APP = "sessions_app.contrib.a2a"
HINT = "sessions_app/conf.py lists the settings."


def check_settings(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check `settings.ADK`."""
    try:
        settings = conf()
    except ValidationError as error:
        return list(_errors(error, "settings.ADK"))
    found = list(discover())
    apps = {app.name: app for _, app in found if isinstance(app, App)}
    # `check_agents` reports these folders: their settings need no second complaint.
    unserved = {name for name, app in found if isinstance(app, AgentFolderError)}
    named = {*apps, *settings.apps} - unserved
    problems: list[CheckMessage] = []
    for name in named:
        problems += _problems_of_app(settings, name, apps)
    problems += _problems_of_a2a(settings, {*apps, *unserved})
    problems += _problems_of_slack(settings, {*apps, *unserved})
    problems += _problems_of_embeddings(settings, apps.values())
    problems += _missing_packages(settings)
    return [*_renamed_settings(), *_problems_of_title_model(settings), *problems]


def _renamed_settings() -> Iterator[CheckMessage]:
    values = getattr(site_settings, "ADK", {})
    for named in (values, *values.get("apps", {}).values()):
        for name in sorted(RENAMED.keys() & named.keys()):
            yield check_warning(
                "W011",
                f"The setting {name!r} of settings.ADK is now called {RENAMED[name]!r}.",
                "Rename it: the earlier name is read in this release only.",
            )


def _problems_of_title_model(settings: Conf) -> Iterator[CheckMessage]:
    name = settings.title_model
    if not name:
        return
    yield from _problems_of_model(name, "settings.ADK['title_model']")
    yield from _problems_of_price(settings, name, "titles")


def _problems_of_price(settings: Conf, name: str, purpose: str) -> Iterator[CheckMessage]:
    if settings.max_cost_per_user and settings.price(name) is None:
        message = f"The cost of people is limited, but {name}, the model of {purpose}, has no price."
        yield check_warning("W002", message, "Add it to settings.ADK['prices'].")


def _problems_of_embeddings(settings: Conf, apps: Iterable[App]) -> Iterator[CheckMessage]:
    for name in settings.embeddings:
        yield from _problems_of_model(name, "settings.ADK['embeddings']")
        yield from _problems_of_price(settings, name, "embeddings")
        if LLMRegistry.supports(name) and not LLMRegistry.resolve(name).makes_embeddings:
            yield check_error(
                "E019",
                f"settings.ADK['embeddings'] names {name!r}, whose class of models makes none.",
                "Name a model of Gemini or OpenAICompatible.",
            )
    if settings.embeddings and find_spec("pgvector") is None:
        yield check_warning(
            "W013",
            "Memory finds words only: the package 'pgvector' is not installed.",
            how_to_install("memory"),
        )
    recalling = sorted(app.name for app in apps if _recalls(app))
    if recalling and not settings.embeddings:
        yield Info(
            f"Agents of {', '.join(recalling)} recall from memory, which finds words only.",
            hint="Set settings.ADK['embeddings'] to a model, so that it finds texts of a like meaning, too.",
            id="sessions_app.I001",
        )


def _recalls(app: App) -> bool:
    for agent in walk_trees(app.root_agent):
        if any(isinstance(tool, LoadMemoryTool | PreloadMemoryTool) for tool in tools_of(agent)):
            return True
    return False


def _problems_of_model(name: str, setting: str) -> Iterator[CheckMessage]:
    if not LLMRegistry.supports(name):
        message = f"{setting} names {name!r}, which no registered class of models supports."
        yield check_error("E015", message, "Name a model as agents do, or leave the setting out.")
        return
    for problem in LLMRegistry.new_llm(name).setup_problems():
        yield check_warning("W001", f"{problem.problem} of {setting}.", problem.remedy)


def _problems_of_a2a(settings: Conf, names: Collection[str]) -> Iterator[CheckMessage]:
    for name in sorted({*settings.a2a_apps} - {*names}):
        yield check_error("E016", _unknown_app("a2a_apps", name), _apps_of_site(names))
    if settings.a2a_apps and find_spec("a2a") is None:
        yield check_error(
            "E017",
            "settings.ADK['a2a_apps'] serves apps by A2A, but the package 'a2a-sdk' is not installed.",
            how_to_install("a2a"),
        )
    if settings.a2a_apps and not django_apps.is_installed(A2A_APP):
        yield check_error(
            "E018",
            f"settings.ADK['a2a_apps'] serves apps by A2A, but {A2A_APP!r} is not installed.",
            "Add it to INSTALLED_APPS.",
        )


def _problems_of_slack(settings: Conf, names: Collection[str]) -> Iterator[CheckMessage]:
    if settings.slack_tokens and not django_apps.is_installed(SLACK_APP):
        yield check_warning(
            "W015",
            f"settings.ADK['slack_tokens'] has tokens, but {SLACK_APP!r} is not installed.",
            "Add it to INSTALLED_APPS.",
        )
    for name in sorted({*settings.slack_agents.values()} - {*names}):
        yield check_warning("W015", _unknown_app("slack_agents", name), _apps_of_site(names))


def _unknown_app(setting: str, name: str) -> str:
    return f"settings.ADK[{setting!r}] names {name!r}, which no agents.py or agent folder defines."


def _apps_of_site(names: Iterable[str]) -> str:
    return f"The apps of the site: {', '.join(sorted(names)) or 'none'}."


def _missing_packages(settings: Conf) -> Iterator[CheckMessage]:
    needed = (
        ("slack_tokens", "slack_bolt", "slack"),
        ("otlp_endpoint", "opentelemetry", "telemetry"),
    )
    for setting, module, extra in needed:
        if getattr(settings, setting) and find_spec(module) is None:
            yield check_warning(
                "W014",
                f"settings.ADK[{setting!r}] has no effect: the package {module!r} is not installed.",
                how_to_install(extra),
            )


def _problems_of_app(settings: Conf, name: str, apps: dict[str, App]) -> Iterator[CheckMessage]:
    if name not in apps:
        yield check_error("E008", _unknown_app("apps", name), _apps_of_site(apps))
        return
    try:
        of_app = settings.of_app(name)
    except ValidationError as error:
        yield from _errors(error, f"settings.ADK['apps'][{name!r}]")
        return
    for model in of_app.chat_models:
        yield from _problems_of_model(model, f"'chat_models' of {name!r}")
    models = {*_models(apps[name]), *of_app.chat_models}
    unpriced = sorted(model for model in models if of_app.price(model) is None)
    if (of_app.invocation_cost or settings.max_cost_per_user) and unpriced:
        message = f"The cost of invocations of {name!r} is limited, but {', '.join(unpriced)} has no price."
        yield check_warning("W002", message, "Add it to settings.ADK['prices'].")


def _models(app: App) -> Iterator[str]:
    for agent in walk_trees(app.root_agent):
        if isinstance(agent, LlmAgent):
            yield agent.canonical_model.model


def _errors(error: ValidationError, path: str) -> Iterator[CheckMessage]:
    for detail in error.errors(include_url=False):
        keys = "".join(f"[{key!r}]" for key in detail["loc"])
        yield check_error("E007", f"{path}{keys}: {detail['msg']}.", HINT)

"""Django system check of the site's agents.

- E001  an agents.py defines no app
- E002  two apps have one name
- E003  two agents of a resumable app have one name
- E004  a tool cannot be declared to the model
- E005  two tools of an agent have one name
- E006  two plugins of an app have one name
- E009  a toolset cannot be used
- W001  a model is unknown, or lacks its API key or its package
- W003  two agents of a tree have one name
- W004  an agent folder is not served
- W005  an agent folder has a flaw that is an error in an agents.py: the site starts all the same
- W006  a workflow cannot end
- W016  a node of a workflow runs once for each of several branches
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import tools_of, trees_of, walk, walk_trees
from runtime.apps.app import App
from runtime.models import SetupProblem
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.workflow import Workflow
from runtime.workflow.tool_node import ToolCaller
from sessions_app.agent_apps.checks import check_error, check_warning
from sessions_app.agent_apps.loading.load_errors import line_of, reason_of
from sessions_app.agent_apps.loading.sources import folder_directories
from sessions_app.agent_apps.registry import Registry, discover
from sessions_app.errors import AgentFolderError


def check_agents(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """Check every `agents.py` and agent folder. The check imports the modules and runs no agent."""
    return list(problems_of(discover()))


@lru_cache(maxsize=2)  # the present registry and, during a reload, the next one
def flaws_of(served: Registry) -> list[str]:
    """Return a sentence for each problem that the check finds in apps that are served."""
    messages = problems_of(served.modules.items())
    return [_in_words(message) for message in messages]


def _in_words(message: CheckMessage) -> str:
    words = f"{message.obj}: {message.msg}"
    if message.hint:
        words = f"{words} {message.hint}"
    return words


def problems_of(found: Iterable[tuple[str, App | Exception]]) -> Iterator[CheckMessage]:
    """Yield the problems of the modules and folders found by `registry.discover`."""
    modules: dict[str, str] = {}
    folders = folder_directories()
    for module_name, app in found:
        for problem in _problems_of_module(module_name, app, modules):
            # A folder must not keep the site from starting.
            if isinstance(problem, Error) and module_name in folders:
                problem = check_warning("W005", problem.msg, problem.hint)
            problem.obj = module_name
            yield problem


def _problems_of_module(
    module_name: str, app: App | Exception, modules: dict[str, str]
) -> Iterator[CheckMessage]:
    """Yield the problems of a module or folder.

    Args:
        modules: names of the modules so far, by app.
    """
    if isinstance(app, AgentFolderError):  # A warning: the other apps are served.
        yield check_warning("W004", str(app))
        return
    if isinstance(app, Exception):
        yield check_error("E001", reason_of(app), _location_hint(app, module_name))
        return
    if app.name in modules:
        message = f"The app {app.name!r} is also defined in {modules[app.name]}."
        yield check_error("E002", message, "Rename one of them.")
    modules.setdefault(app.name, module_name)
    yield from _problems_of_app(app)


def _problems_of_app(app: App) -> Iterator[CheckMessage]:
    for name in _repeated(plugin.name for plugin in app.plugins):
        message = f"App {app.name!r} has several plugins {name!r}."
        yield check_error("E006", message, "Give each its own name.")
    for root in trees_of(app.root_agent):
        for name in _repeated(agent.name for agent in walk(root)):
            message = f"Several agents in the tree of {root.name!r} are called {name!r}."
            hint = "Give each its own name: transfers and events use it."
            # A resumed invocation finds its agent by name, in the tree of the root agent.
            if app.is_resumable and root is app.root_agent:
                yield check_error("E003", message, hint)
            else:
                yield check_warning("W003", message, hint)
        for agent in walk(root):
            yield from _problems_of_tools(agent)
            yield from _problems_of_toolsets(agent)
            if isinstance(agent, Workflow):
                yield from _problems_of_graph(agent)
    yield from _problems_of_models(app)


def _problems_of_graph(workflow: Workflow) -> Iterator[CheckMessage]:
    endless = workflow.graph.nodes_without_end()
    if endless:
        message = f"Workflow {workflow.name!r} cannot end after {', '.join(map(repr, endless))}."
        yield check_warning("W006", message, "Give a node of the cycle a route that leads out of it.")
    repeated = workflow.graph.repeated_nodes()
    if repeated:
        message = (
            f"Workflow {workflow.name!r} runs {', '.join(map(repr, repeated))} once for each of the branches that lead "
            "there at once."
        )
        yield check_warning("W016", message, "Let the branches lead to a JoinNode, and the JoinNode there.")


def _problems_of_models(app: App) -> Iterator[CheckMessage]:
    """Yield each problem of a model once, with the names of all agents that use the model."""
    agents: dict[SetupProblem, list[str]] = {}
    for agent in walk_trees(app.root_agent):
        if not isinstance(agent, LlmAgent) or isinstance(agent, ToolCaller):
            continue
        for problem in agent.canonical_model.setup_problems():
            agents.setdefault(problem, []).append(agent.name)
    for problem, names in agents.items():
        message = f"{problem.problem} of {', '.join(names)}."
        yield check_warning("W001", message, problem.remedy)


def _problems_of_tools(agent: BaseAgent) -> Iterator[CheckMessage]:
    tools = [tool for tool in tools_of(agent) if isinstance(tool, BaseTool)]
    for name in _repeated(tool.name for tool in tools):
        message = f"Agent {agent.name!r} has several tools {name!r}."
        yield check_error("E005", message, "Give each its own name: the model calls tools by name.")
    for tool in tools:
        try:
            tool._get_declaration()
        except Exception as error:  # noqa: BLE001 - a tool may raise anything, and the check reports it
            message = f"Tool {tool.name!r} of agent {agent.name!r} cannot be declared: {reason_of(error)}"
            yield check_error("E004", message)


def _problems_of_toolsets(agent: BaseAgent) -> Iterator[CheckMessage]:
    for toolset in tools_of(agent):
        if not isinstance(toolset, BaseToolset):
            continue
        subject = f"{type(toolset).__name__} of agent {agent.name!r} cannot be used"
        try:
            problems = toolset.setup_problems()
        except Exception as error:  # noqa: BLE001 - a toolset may raise anything, and the check reports it
            yield check_error("E009", f"{subject}: {reason_of(error)}")
            continue
        for problem in problems:
            yield check_error("E009", f"{subject}: {problem.problem}.", problem.remedy)


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _location_hint(error: Exception, module_name: str) -> str | None:
    """Return a hint with the line of the package in the error's traceback; None if the traceback has none."""
    spec = find_spec(module_name)
    line = line_of(error, Path(spec.origin).parent) if spec and spec.origin else None
    return f"Look at {line}." if line else None

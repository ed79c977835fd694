"""Lines of text about agents and their tools, for management commands."""

from collections.abc import Iterator
from textwrap import shorten

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import trees_of
from runtime.apps.app import App
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.declared_parameters import parameter_schemas
from runtime.workflow import Workflow
from runtime.workflow.tool_node import ToolCaller
from sessions_app.agent_apps.loading.load_errors import reason_of

WIDTH = 100


def tool_name(tool: BaseTool | BaseToolset) -> str:
    """Return a tool's name, with its kind unless it is an ordinary function."""
    if isinstance(tool, BaseToolset):
        return f"{type(tool).__name__} (lists its tools at run time)"
    if isinstance(tool, AgentTool):
        return f"{tool.name} (agent)"
    if tool.is_long_running:
        return f"{tool.name} (long-running)"
    return tool.name


def tool_line(tool: BaseTool | BaseToolset) -> str:
    """Return the declaration of a tool in one line: name, parameters, beginning of the description."""
    if isinstance(tool, BaseToolset):
        return tool_name(tool)
    try:
        declaration = tool._get_declaration()
    except Exception as error:  # noqa: BLE001 - a tool may raise anything; the others are listed all the same
        return f"{tool_name(tool)}  (cannot be declared: {reason_of(error)})"
    if declaration is None:
        return f"{tool_name(tool)}  (the model does not call it as a function)"
    line = f"{tool_name(tool)}({', '.join(_parameter_texts(declaration))})"
    return shorten(f"{line}: {declaration.description or 'no description'}", WIDTH, placeholder=" …")


def agent_title(agent: BaseAgent) -> str:
    """Return an agent's name, class and model; of a tool node, that it is one."""
    if isinstance(agent, ToolCaller):
        return f"{agent.name}  tool node"
    title = f"{agent.name}  {type(agent).__name__}"
    if isinstance(agent, LlmAgent):
        return f"{title}, model {agent.canonical_model.model}"
    return title


def graph_lines(agent: BaseAgent) -> Iterator[str]:
    """Yield the edges of a workflow; nothing for another agent."""
    if isinstance(agent, Workflow):
        yield from agent.graph.lines()


def agents_of(app: App) -> Iterator[tuple[str, BaseAgent]]:
    """Yield the agents of all trees of the app, parents first, each with the indent of its depth."""
    for root in trees_of(app.root_agent):
        yield from _agents_below(root, "")


def type_text(schema: types.Schema) -> str:
    """Return the type of a schema in terms of JSON Schema: `string`, `array of integer`, `"a" | "b"`."""
    if schema.any_of:
        return " | ".join(dict.fromkeys(map(type_text, schema.any_of)))
    if schema.enum:
        return " | ".join(f'"{value}"' for value in schema.enum)
    name = "any value"
    if schema.type:
        name = schema.type.value.lower()
    if schema.items:
        return f"{name} of {type_text(schema.items)}"
    return name


def _agents_below(agent: BaseAgent, indent: str) -> Iterator[tuple[str, BaseAgent]]:
    yield indent, agent
    for child in agent.sub_agents:
        yield from _agents_below(child, f"{indent}  ")


def _parameter_texts(declaration: types.FunctionDeclaration) -> Iterator[str]:
    for name, schema, is_required in parameter_schemas(declaration):
        yield f"{name}{'' if is_required else '?'}: {type_text(schema)}"

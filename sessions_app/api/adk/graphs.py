"""Agents and workflows of an app for adk-web: as JSON, and drawn in the language of Graphviz."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from runtime.agents import BaseAgent
from runtime.workflow import START, BaseNode, Edge, FunctionNode, JoinNode, Workflow
from runtime.workflow.agent_node import AgentNode
from runtime.workflow.tool_node import ToolNode
from sessions_app.api.access.callers import caller_of
from sessions_app.api.adk.names import AdkSchema
from sessions_app.errors import NotFoundError
from sessions_app.models import Scope
from sessions_app.sessions.agent_access import usable_app

END = "__END__"
PALETTES = {
    False: {"paper": "#ffffff", "ink": "#1f1f1f", "line": "#6b7280", "fill": "#f3f4f6", "ends": "#bfe3d0"},
    True: {"paper": "#131314", "ink": "#e3e3e3", "line": "#9ca3af", "fill": "#2b2c2f", "ends": "#1f4d3a"},
}
"""Colours of a drawing, by `dark_mode`."""
router = Router(tags=["graphs"], by_alias=True, exclude_none=True)


class NodeName(Schema):
    """An end of an edge."""

    name: str


class GraphEdge(Schema):
    """An edge of a workflow; `route` is a value or a list of values."""

    from_node: NodeName
    to_node: NodeName
    route: Any = None


class WorkflowGraph(Schema):
    """The nodes and edges of a workflow."""

    nodes: "list[GraphNode]"
    edges: list[GraphEdge]


class GraphNode(Schema):
    """An agent with the agents below it, or a node of a workflow. Instructions and tools are the site's own.

    Attributes:
        type: `agent`, `workflow`, `function`, `tool`, `join`, `start` or `node`.
    """

    name: str
    type: str
    description: str = ""
    sub_agents: "list[GraphNode]" = []
    graph: WorkflowGraph | None = None


class AppGraph(Schema):
    """The agents of an app."""

    name: str
    root_agent: GraphNode


class Drawing(AdkSchema):
    """A drawing in the language of Graphviz, which adk-web draws itself."""

    dot_src: str


@router.get("/dev/apps/{app_name}/build_graph", response=AppGraph)
async def build_graph(request: HttpRequest, app_name: str) -> AppGraph:
    """Return the agents and workflows of an app by name, without their instructions and tools."""
    return AppGraph(name=app_name, root_agent=await _root_of(request, app_name))


@router.get("/dev/apps/{app_name}/build_graph_image", response=dict[str, Drawing])
async def build_graph_image(
    request: HttpRequest, app_name: str, dark_mode: bool = False, node: str = ""
) -> dict[str, Drawing]:
    """Return the drawing of the root agent, or of the one at the path `node`, and of all workflows below, by path."""
    shown = _at(await _root_of(request, app_name), node)
    drawings = {}
    for path, below in _with_path(shown, node):
        if below.graph or path == node:
            drawings[path] = Drawing(dot_src="\n".join(_dot(below, dark_mode)))
    return drawings


async def _root_of(request: HttpRequest, app_name: str) -> GraphNode:
    caller = caller_of(request)
    caller.require(Scope.READ)
    app = await usable_app(caller.user, app_name)
    return _agent(app.root_agent)


def _agent(agent: BaseAgent) -> GraphNode:
    node = GraphNode(name=agent.name, type="agent", description=agent.description or "")
    if not isinstance(agent, Workflow):
        node.sub_agents = [_agent(below) for below in agent.sub_agents]
        return node
    start = GraphNode(name=START.name, type="start")
    nodes = [start, *map(_node, agent.graph.nodes.values())]
    edges = [_edge(edge) for edge in chain.from_iterable(agent.graph.edges_from.values())]
    node.type = "workflow"
    node.graph = WorkflowGraph(nodes=nodes, edges=edges)
    return node


def _edge(edge: Edge) -> GraphEdge:
    begin = NodeName(name=edge.from_node.name)
    return GraphEdge(from_node=begin, to_node=NodeName(name=edge.to_node.name), route=edge.route)


def _node(node: BaseNode) -> GraphNode:
    match node:
        case ToolNode():
            kind = "tool"
        case AgentNode():
            return _agent(node.agent).model_copy(update={"name": node.name})
        case JoinNode():
            kind = "join"
        case FunctionNode():
            kind = "function"
        case _:
            kind = "node"
    return GraphNode(name=node.name, type=kind)


def _below(node: GraphNode) -> list[GraphNode]:
    return node.graph.nodes if node.graph else node.sub_agents


def _at(root: GraphNode, path: str) -> GraphNode:
    """Return the node at a path, which may begin with the root's name.

    Raises:
        NotFoundError: there is none.
    """
    names = [name for name in path.split("/") if name]
    if names[:1] == [root.name]:
        del names[0]
    found = root
    for name in names:
        by_name = {below.name: below for below in _below(found)}
        if name not in by_name:
            raise NotFoundError(f"The app has no node at {path!r}.")
        found = by_name[name]
    return found


def _with_path(node: GraphNode, path: str) -> Iterator[tuple[str, GraphNode]]:
    yield path, node
    for below in _below(node):
        yield from _with_path(below, f"{path}/{below.name}" if path else below.name)


def _dot(node: GraphNode, is_dark: bool) -> Iterator[str]:
    """Yield the lines of a drawing: a workflow from its start to its ends, or an agent with the agents below it."""
    colours = PALETTES[is_dark]
    yield "digraph {"
    yield f'graph [bgcolor="{colours["paper"]}"]'
    look = f'color="{colours["line"]}" fontcolor="{colours["ink"]}" fontname="Helvetica"'
    yield f'node [shape=box style="rounded,filled" fillcolor="{colours["fill"]}" {look}]'
    yield f"edge [{look}]"
    if node.graph:
        yield from _dot_of_workflow(node.graph, colours["ends"])
    else:
        yield from _dot_of_agents(node)
    yield "}"


def _dot_of_agents(agent: GraphNode) -> Iterator[str]:
    """Yield an agent with those below it. Nodes of a workflow follow it: adk-web marks them here, too."""
    yield _quoted(agent.name)
    if agent.graph:
        yield from _dot_of_edges(agent.graph, agent.name)
    for below in agent.sub_agents:
        yield f"{_quoted(agent.name)} -> {_quoted(below.name)}"
        yield from _dot_of_agents(below)


def _dot_of_workflow(graph: WorkflowGraph, ends: str) -> Iterator[str]:
    branching = {edge.from_node.name for edge in graph.edges if edge.route is not None}
    going_on = {edge.from_node.name for edge in graph.edges}
    for name, label in ((START.name, "START"), (END, "END")):
        yield f'{_quoted(name)} [label="{label}" shape=oval fillcolor="{ends}"]'
    for node in graph.nodes:
        if node.name in branching:
            yield f"{_quoted(node.name)} [shape=diamond style=filled]"
        elif node.type != "start":
            shape = "oval" if node.type == "join" else "box"
            yield f"{_quoted(node.name)} [shape={shape}]"
        if node.name not in going_on:
            yield f"{_quoted(node.name)} -> {_quoted(END)}"
    yield from _dot_of_edges(graph, START.name)


def _dot_of_edges(graph: WorkflowGraph, start: str) -> Iterator[str]:
    for edge in graph.edges:
        begin = start if edge.from_node.name == START.name else edge.from_node.name
        label = "" if edge.route is None else f" [label={_quoted(str(edge.route))}]"
        yield f"{_quoted(begin)} -> {_quoted(edge.to_node.name)}{label}"


def _quoted(text: str) -> str:
    """Return a text as an identifier of the language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Make nodes of agents, tools and functions, and edges of the short forms that authors write."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypedDict, Unpack, overload

from runtime.agents.base_agent import BaseAgent
from runtime.auth.auth_tool import AuthConfig
from runtime.errors import ConfigurationError, with_article
from runtime.tools.base_tool import BaseTool
from runtime.workflow.agent_node import AgentNode
from runtime.workflow.base_node import START, BaseNode
from runtime.workflow.errors import GraphValidationError
from runtime.workflow.function_node import FunctionNode
from runtime.workflow.graph import Edge, RouteValue
from runtime.workflow.parallel_worker import ParallelWorker
from runtime.workflow.retry_config import RetryConfig
from runtime.workflow.tool_node import ToolNode


class NodeSettings(TypedDict, total=False):
    """Settings of `node`."""

    name: str
    rerun_on_resume: bool
    retry_config: RetryConfig | None
    timeout: float | None
    parallel_worker: bool
    max_parallel_workers: int | None
    require_confirmation: bool | Callable[..., Any]
    auth_config: AuthConfig | None
    parameter_binding: Literal["state", "node_input"]


@overload
def node(node_like: None = None, **settings: Unpack[NodeSettings]) -> Callable[[Any], BaseNode]: ...


@overload
def node(node_like: Any, **settings: Unpack[NodeSettings]) -> BaseNode: ...


def node(node_like: Any = None, **settings: Unpack[NodeSettings]) -> Any:
    """Return a node made of a function, an agent or a tool, with these settings; also a decorator.

    Args:
        node_like: function, agent, tool or node; a node is copied.
        settings: fields of the node. With `parallel_worker`, it runs once for each item of the input list, for at most
            `max_parallel_workers` items at once.

    Raises:
        ConfigurationError: no node can be made of `node_like`, or `max_parallel_workers` is set alone.
    """
    fields: dict[str, Any] = dict(settings)
    is_parallel = fields.pop("parallel_worker", False)
    limit = fields.pop("max_parallel_workers", None)
    if limit is not None and not is_parallel:
        raise ConfigurationError("max_parallel_workers needs parallel_worker=True.")

    def make(node_like: Any) -> BaseNode:
        made = build_node(node_like, **fields)
        if not is_parallel:
            return made
        return ParallelWorker(
            name=made.name, description=made.description, worker=made, max_parallel_workers=limit
        )

    if node_like is None:
        return make
    return make(node_like)


def build_node(node_like: Any, **settings: Any) -> BaseNode:
    """Return the node itself, or one made of an agent, a tool or a function; `settings` are fields of the node.

    Raises:
        ConfigurationError: the value is none of these.
    """
    if node_like == "START":
        return START
    if isinstance(node_like, FunctionNode) and settings:
        return node_like.with_settings(settings)
    if isinstance(node_like, BaseNode):
        return node_like.model_copy(update=settings) if settings else node_like
    if isinstance(node_like, BaseAgent):
        fields = {"name": node_like.name, "description": node_like.description, **settings}
        made = AgentNode(agent=node_like, **fields)
        made.rerun_on_resume = made.rerun_on_resume or made.is_task
        return made
    if isinstance(node_like, BaseTool):
        return ToolNode(tool=node_like, **settings)
    if isinstance(node_like, Callable):  # type: ignore[arg-type]
        return FunctionNode(func=node_like, **settings)
    raise ConfigurationError(
        f"A node cannot be {with_article(type(node_like).__name__)}: {node_like!r}. Give a function, an agent, a tool, "
        "a node, or 'START'."
    )


class NodeBuilder:
    """Makes nodes: each agent, tool or function becomes one node, however often it is named."""

    def __init__(self) -> None:
        # With the object: an `id` is used again once an object is gone.
        self._nodes: dict[int, tuple[Any, BaseNode]] = {}

    def build(self, node_like: Any) -> BaseNode:
        """Return the node of `node_like`; raise the error of `build_node`."""
        if id(node_like) not in self._nodes:
            self._nodes[id(node_like)] = node_like, build_node(node_like)
        return self._nodes[id(node_like)][1]


class EdgeParser:
    """Makes edges of what an author writes."""

    def __init__(self) -> None:
        self._builder = NodeBuilder()

    def parse(self, items: Sequence[Any]) -> Iterator[Edge]:
        """Yield the edges of `Edge` objects and chains.

        A chain is a tuple of elements: a node, a tuple of nodes that run at once, or a dict of routes.

        Raises:
            GraphValidationError: an item is no edge.
        """
        for item in items:
            if isinstance(item, Edge):
                yield item
            elif isinstance(item, tuple) and len(item) > 1:
                for before, after in pairwise(item):
                    yield from self._between(before, after)
            else:
                raise GraphValidationError(
                    f"{item!r} is no edge. Write a tuple of nodes, such as ('START', first, second), or an Edge."
                )

    def _between(self, before: Any, after: Any) -> Iterator[Edge]:
        """Yield the edges between two neighbours in a chain."""
        for from_node in self._ends(before):
            if not isinstance(after, dict):
                for to_node in self._starts(after):
                    yield Edge(from_node=from_node, to_node=to_node)
                continue
            for route, targets in after.items():
                if not isinstance(route, RouteValue):
                    raise GraphValidationError(
                        f"The route {route!r} is {with_article(type(route).__name__)}. Routes are texts, numbers or "
                        "booleans."
                    )
                for to_node in self._starts(targets):
                    yield Edge(from_node=from_node, to_node=to_node, route=route)

    def _starts(self, element: Any) -> list[BaseNode]:
        if not isinstance(element, tuple):
            return [self._builder.build(element)]
        return [self._builder.build(member) for member in element]

    def _ends(self, element: Any) -> list[BaseNode]:
        """Return the nodes of an element that has one after it in its chain."""
        if not isinstance(element, dict):
            return self._starts(element)
        nodes: list[BaseNode] = []
        for targets in element.values():
            for node in self._starts(targets):
                # Several routes may lead to one node. The graph refuses a second edge from this node to the next.
                if node not in nodes:
                    nodes.append(node)
        return nodes

"""Graph: the nodes of a workflow and the edges between them.

An edge without a route is always followed. An edge with a route is followed when the node before it chose that route,
and an edge with the default route when none of the others was.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import BaseModel, ConfigDict

from runtime.workflow.base_node import START, BaseNode
from runtime.workflow.errors import GraphValidationError

DEFAULT_ROUTE = "__DEFAULT__"
RouteValue = bool | int | str


class Edge(BaseModel):
    """An edge of a graph.

    Attributes:
        route: the route, or the routes, on which the edge is followed; None: always.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    from_node: BaseNode
    to_node: BaseNode
    route: RouteValue | list[RouteValue] | None = None

    def routes(self) -> list[RouteValue]:
        if self.route is None:
            return []
        if isinstance(self.route, list):
            return self.route
        return [self.route]


@dataclass(frozen=True)
class Graph:
    """Checked nodes and edges. `nodes` are in the order of the edges, without `START`."""

    nodes: dict[str, BaseNode]
    edges_from: dict[str, list[Edge]]
    names_before: dict[str, set[str]]

    @classmethod
    def from_edges(cls, edges: Sequence[Edge], owner: str) -> "Graph":
        """Check the edges and return their graph; `owner` is the workflow's name for messages.

        Raises:
            GraphValidationError: the graph cannot run.
        """
        nodes: dict[str, BaseNode] = {}
        edges_from: dict[str, list[Edge]] = defaultdict(list)
        names_before: dict[str, set[str]] = defaultdict(set)
        for edge in edges:
            for node in (edge.from_node, edge.to_node):
                if nodes.setdefault(node.name, node) is not node:
                    raise GraphValidationError(
                        f"Workflow {owner!r} has two nodes called {node.name!r}. Give one of them another name by "
                        "node(…, name='…'), or use one node object in both places."
                    )
            edges_from[edge.from_node.name].append(edge)
            names_before[edge.to_node.name].add(edge.from_node.name)
        graph = cls(nodes, dict(edges_from), dict(names_before))
        problem = next(graph._problems(), None)
        if problem:
            raise GraphValidationError(f"Workflow {owner!r}: {problem}")
        del nodes[START.name]
        return graph

    def is_terminal(self, name: str) -> bool:
        return name not in self.edges_from

    def nodes_after(self, name: str, route: Any) -> list[BaseNode]:
        """Return the nodes that follow a node that chose `route`: a value, several in a list, or None."""
        chosen = route if isinstance(route, list) else [route]
        followed: list[BaseNode] = []
        by_default: list[BaseNode] = []
        has_matched = False
        for edge in self.edges_from.get(name, ()):
            if edge.route is None:
                followed.append(edge.to_node)
            elif edge.route == DEFAULT_ROUTE:
                by_default.append(edge.to_node)
            elif _is_chosen(edge, chosen):
                followed.append(edge.to_node)
                has_matched = True
        if has_matched:
            return followed
        return followed + by_default

    def lines(self) -> Iterator[str]:
        """Yield a line for each node that others follow: `decide -> refund on True, refuse on False`."""
        for name, edges in self.edges_from.items():
            followers = [f"{edge.to_node.name}{_condition(edge)}" for edge in edges]
            if name == START.name:
                name = "START"
            yield f"{name} -> {', '.join(followers)}"

    def names_reached(self, begins: Iterable[str]) -> set[str]:
        """Return the names of the nodes that edges lead to from these nodes, directly or through others."""
        reached: set[str] = set()
        unread = list(begins)
        while unread:
            for edge in self.edges_from.get(unread.pop(), ()):
                name = edge.to_node.name
                if name not in reached:
                    reached.add(name)
                    unread.append(name)
        return reached

    def nodes_without_end(self) -> list[str]:
        """Return the names of the nodes after which the workflow cannot end, whatever routes are chosen."""
        ending = {name for name in self.nodes if not self._always_goes_on(name)}
        unread = list(ending)
        while unread:
            name = unread.pop()
            before = self.names_before.get(name, set()) - ending
            ending |= before
            unread += before
        return [name for name in self.nodes if name not in ending]

    def repeated_nodes(self) -> list[str]:
        """Return the names of the nodes that branches which begin at once lead to without a JoinNode.

        Such a node runs once for each branch.
        """
        repeated: set[str] = set()
        for name, edges in self.edges_from.items():
            routes: list[RouteValue | None] = [None]
            for edge in edges:
                routes += edge.routes()
            for route in routes:
                repeated |= self._meeting_points(name, self.nodes_after(name, route))
        return [name for name in self.nodes if name in repeated]

    def _meeting_points(self, begin: str, branches: Sequence[BaseNode]) -> set[str]:
        """Return the first nodes that several of the branches from `begin` lead to, up to its next run."""
        branch_of: dict[str, str] = {}
        met: set[str] = set()
        for branch in branches:
            unread = [branch.name]
            while unread:
                name = unread.pop()
                if self.nodes[name].waits_for_all:
                    continue
                if name in branch_of:
                    if branch_of[name] != branch.name:
                        met.add(name)
                    continue
                branch_of[name] = branch.name
                if name != begin:
                    unread += [edge.to_node.name for edge in self.edges_from.get(name, ())]
        return met

    def _always_goes_on(self, name: str) -> bool:
        """Return True if an edge is followed on any route."""
        return any(edge.route in (None, DEFAULT_ROUTE) for edge in self.edges_from.get(name, ()))

    def _problems(self) -> Iterator[str]:
        if START.name not in self.edges_from:
            yield "no edge begins at START. Begin with ('START', first_node)."
        if START.name in self.names_before:
            yield "an edge leads back to START. Let it lead to the first node."
        unreachable = sorted(self.nodes.keys() - self.names_reached([START.name]) - {START.name})
        if unreachable:
            yield f"{_name_nodes(unreachable)} cannot be reached from START. Add an edge to it, or remove it."
        for name, edges in self.edges_from.items():
            yield from _problems_of_edges(name, edges)
        cycle = self._cycle_without_route()
        if cycle:
            yield f"{_name_nodes(cycle)} follow each other without end. Give an edge of this cycle a route."

    def _cycle_without_route(self) -> list[str]:
        """Return the names of nodes that would run for ever, in their order; empty if there are none."""
        following: dict[str, set[str]] = {}
        for name, edges in self.edges_from.items():
            following[name] = {edge.to_node.name for edge in edges if edge.route is None}
        try:
            TopologicalSorter(following).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1]
            return sorted(set(cycle))
        return []


def _problems_of_edges(name: str, edges: Iterable[Edge]) -> Iterator[str]:
    seen: set[str] = set()
    for edge in edges:
        target = edge.to_node.name
        routes = edge.routes()
        if name == START.name and routes:
            yield f"the edge from START to {target!r} has a route, but START chooses none. Leave it out."
        if isinstance(edge.route, list) and DEFAULT_ROUTE in routes:
            yield f"an edge from {name!r} has the default route among others. Give it an edge of its own."
        keys: list[RouteValue | None] = [*routes] or [None]
        for route in keys:
            key = f"{target} {type(route).__name__} {route}"
            if key in seen:
                yield f"two edges lead from {name!r} to {target!r} on the route {route!r}. Remove one."
            seen.add(key)


def _is_chosen(edge: Edge, chosen: Sequence[Any]) -> bool:
    for route in edge.routes():
        for value in chosen:
            # 1 == True in Python, but they are two routes.
            if type(route) is type(value) and route == value:
                return True
    return False


def _condition(edge: Edge) -> str:
    if edge.route is None:
        return ""
    if edge.route == DEFAULT_ROUTE:
        return " on any other route"
    return f" on {' or '.join(map(repr, edge.routes()))}"


def _name_nodes(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Node {names[0]!r}"
    return f"Nodes {', '.join(map(repr, names))}"

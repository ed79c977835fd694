"""Construction of workflows: edges, routes, and errors that name the nodes and the remedy (contract W1)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.errors import ConfigurationError
from runtime.workflow import (
    DEFAULT_ROUTE,
    START,
    Edge,
    FunctionNode,
    JoinNode,
    Workflow,
    node,
)


def a() -> str:
    return "a"


def b() -> str:
    return "b"


def c() -> str:
    return "c"


FIRST = node(a)


def edges_of(*items: Any) -> list[tuple[str, str, Any]]:
    graph = Workflow(name="flow", edges=list(items)).graph
    return [
        (edge.from_node.name, edge.to_node.name, edge.route)
        for edges in graph.edges_from.values()
        for edge in edges
    ]


def test_a_chain_connects_neighbours() -> None:
    assert edges_of(("START", a, b)) == [("__START__", "a", None), ("a", "b", None)]


def test_a_tuple_in_a_chain_fans_out_and_in() -> None:
    join = JoinNode(name="join")
    assert edges_of((START, a, (b, c), join)) == [
        ("__START__", "a", None),
        ("a", "b", None),
        ("a", "c", None),
        ("b", "join", None),
        ("c", "join", None),
    ]


def test_a_dict_in_a_chain_holds_routes() -> None:
    routes: dict[Any, Any] = {"left": b, 2: c, DEFAULT_ROUTE: (b, c)}
    assert edges_of(("START", a, routes))[1:] == [
        ("a", "b", "left"),
        ("a", "c", 2),
        ("a", "b", DEFAULT_ROUTE),
        ("a", "c", DEFAULT_ROUTE),
    ]


def test_an_edge_may_have_several_routes() -> None:
    first, second = node(a), node(b)
    edge = Edge(from_node=first, to_node=second, route=["x", "y"])
    graph = Workflow(name="flow", edges=[("START", first), edge]).graph
    assert [found.name for found in graph.nodes_after("a", "y")] == ["b"]
    assert graph.nodes_after("a", "z") == []


@pytest.mark.parametrize(
    ("route", "expected"),
    [("one", ["b"]), (True, ["c"]), (1, ["d"]), ("1", ["e"]), (None, ["e"]), (["one", True], ["b", "c"])],
)
def test_a_route_is_followed_if_value_and_type_are_the_same(route: Any, expected: list[str]) -> None:
    """In Python 1 and True are equal; as routes they are not."""
    names = {name: FunctionNode(func=a, name=name) for name in "bcde"}
    routes: dict[Any, Any] = {"one": names["b"], DEFAULT_ROUTE: names["e"]}
    first = node(a)
    graph = Workflow(
        name="flow",
        edges=[
            ("START", first, routes),
            Edge(from_node=first, to_node=names["c"], route=True),
            Edge(from_node=first, to_node=names["d"], route=1),
        ],
    ).graph
    assert [found.name for found in graph.nodes_after("a", route)] == expected


def test_an_edge_without_a_route_is_always_followed() -> None:
    graph = Workflow(name="flow", edges=[("START", a, b), (a, {"x": c})]).graph
    assert [found.name for found in graph.nodes_after("a", "x")] == ["b", "c"]
    assert [found.name for found in graph.nodes_after("a", "y")] == ["b"]


@pytest.mark.parametrize(
    ("edges", "problem", "remedy"),
    [
        ([], "no edge begins at START", "Begin with"),
        ([(a, b)], "no edge begins at START", "Begin with"),
        ([("START", a), (b, c)], "Nodes 'b', 'c' cannot be reached", "Add an edge to it, or remove it"),
        ([("START", a, "START")], "leads back to START", "Let it lead to the first node"),
        ([("START", {"x": a})], "START chooses none", "Leave it out"),
        (
            [("START", a, b, a)],
            "Nodes 'a', 'b' follow each other without end",
            "Give an edge of this cycle a route",
        ),
        ([("START", a, a)], "Node 'a' follow", "Give an edge of this cycle a route"),
        ([("START", a, b), (a, b)], "two edges lead from 'a' to 'b'", "Remove one"),
        ([("START", a, {1: b}), (a, {1: b})], "on the route 1", "Remove one"),
        (
            [("START", FIRST), Edge(from_node=FIRST, to_node=node(b), route=["x", DEFAULT_ROUTE])],
            "an edge from 'a' has the default route among others",
            "Give it an edge of its own",
        ),
        (
            [("START", a, FunctionNode(func=b, name="a"))],
            "two nodes called 'a'",
            "Give one of them another name by",
        ),
        ([("START", a, {None: b})], "The route None is a NoneType", "Routes are texts, numbers or booleans"),
        ([("START",)], "is no edge", "Write a tuple of nodes"),
        (["START"], "is no edge", "Write a tuple of nodes"),
    ],
)
def test_a_graph_that_cannot_run_is_refused_with_a_remedy(
    edges: list[Any], problem: str, remedy: str
) -> None:
    with pytest.raises(ValueError, match=f"{problem}.*{remedy}"):
        Workflow(name="flow", edges=edges)


def test_a_loop_with_a_route_is_allowed() -> None:
    assert edges_of(("START", a, b, {"again": a}))[-1] == ("b", "a", "again")


@pytest.mark.parametrize("wrong", [7, None, [a]])
def test_a_node_is_made_of_functions_agents_and_tools_only(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"A node cannot be .*Give a function, an agent"):
        Workflow(name="flow", edges=[("START", wrong)])


def test_names_are_identifiers() -> None:
    with pytest.raises(ValueError, match=r"'not one'.*Give the node one by"):
        node(a, name="not one")


def test_a_parameter_that_needs_a_position_is_refused() -> None:
    def positional(value: int, /) -> None: ...

    with pytest.raises(ConfigurationError, match="'value'"):
        node(positional)


def test_limits_need_a_parallel_worker() -> None:
    with pytest.raises(ConfigurationError, match="needs parallel_worker=True"):
        node(a, max_parallel_workers=2)


def test_agents_become_sub_agents_and_belong_to_one_workflow() -> None:
    writer = LlmAgent(name="writer")
    flow = Workflow(name="flow", edges=[("START", writer)])
    assert flow.find_agent("writer") is writer
    with pytest.raises(ValueError, match=r"'writer' already has a parent.*Use clone\(\)"):
        Workflow(name="other", edges=[("START", writer)])
    with pytest.raises(ValueError, match="sub_agents"):
        Workflow(name="other", edges=[("START", a)], sub_agents=[LlmAgent(name="more")])


def test_node_is_a_decorator_too() -> None:
    @node(name="double", timeout=3)
    def twice(node_input: int) -> int:
        """Double a number."""
        return node_input * 2

    assert (twice.name, twice.timeout, twice.description) == ("double", 3, "Double a number.")


def test_a_graph_is_shown_as_text_and_names_the_nodes_after_which_it_cannot_end() -> None:
    def step() -> None: ...

    a, b, c, d = (node(step, name=name) for name in "abcd")
    edges = [("START", a, {True: b, 2: c}), (a, {DEFAULT_ROUTE: d}), (b, {"x": b, DEFAULT_ROUTE: b})]
    graph = Workflow(name="flow", edges=edges).graph
    assert list(graph.lines()) == [
        "START -> a",
        "a -> b on True, c on 2, d on any other route",
        "b -> b on 'x', b on any other route",
    ]
    assert graph.nodes_without_end() == ["b"]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([("START", "a", ("b", "c"), "d", "e")], ["d"]),
        ([("START", "a", ("b", "c"), "join", "d")], []),
        ([("START", ("a", "b")), ("a", "b")], ["b"]),
        ([("START", "a", ("b", "c")), ("b", {"x": "a"}), ("c", {"x": "a"})], ["a"]),
        ([("START", "a", ("b", "c")), ("b", {"x": "a"})], []),
        ([("START", "a", {"x": "b", "y": "c"}), (("b", "c"), "d")], []),
        ([("START", "a", {"x": ("b", "c"), "y": "d"}), (("b", "c"), {"x": "d"})], ["d"]),
    ],
)
def test_nodes_that_run_once_for_each_branch_are_named(edges: list[Any], expected: list[str]) -> None:
    def step() -> None: ...

    nodes = {name: node(step, name=name) for name in "abcde"}
    nodes["join"] = JoinNode(name="join")

    def with_nodes(item: Any) -> Any:
        if isinstance(item, tuple):
            return tuple(map(with_nodes, item))
        if isinstance(item, dict):
            return {route: with_nodes(value) for route, value in item.items()}
        return nodes.get(item, item)

    graph = Workflow(name="flow", edges=[with_nodes(item) for item in edges]).graph
    assert graph.repeated_nodes() == expected

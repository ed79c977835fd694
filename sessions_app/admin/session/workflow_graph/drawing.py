"""Nodes and edges to draw: one node for all runs of a name. Many nodes that are alike become one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _

from runtime.workflow.base_node import START
from runtime.workflow.graph import Graph
from runtime.workflow.progress import NodeProgress, combined_state
from sessions_app.rendering.workflow_card import STATE_WORDS, state_in_words

MAX_UNFOLDED = 40
"""Number of nodes from which those that are alike are folded."""


@dataclass(frozen=True)
class DrawnNode:
    """A node, or several that are folded.

    Attributes:
        id: name of the node, or of the first of those that are folded.
        facts: its state, and the number of its runs if there are several.
    """

    id: str
    title: str
    state: str
    facts: str


def draw(graph: Graph | None, runs: Sequence[NodeProgress]) -> dict[str, Any]:
    """Return the nodes and edges of a workflow as JSON for `graph.js`; without a graph, nodes alone."""
    by_name: dict[str, list[NodeProgress]] = defaultdict(list)
    for run in runs:
        by_name[run.name].append(run)
    edges: list[tuple[str, str, str]] = []
    if graph:
        for before, leaving in graph.edges_from.items():
            if before != START.name:
                edges += [(before, edge.to_node.name, _routes(edge.routes())) for edge in leaving]
    names = {name: name for name in by_name}
    if len(by_name) > MAX_UNFOLDED:
        names = _folded(by_name, edges)
    members: dict[str, list[str]] = defaultdict(list)
    for name, shown in names.items():
        members[shown].append(name)
    nodes = [_drawn(group, by_name) for group in members.values()]
    drawn = [(names[before], names[after], route) for before, after, route in edges]
    # Edges within a folded chain have no route; a node that follows itself has one.
    kept = [edge for edge in dict.fromkeys(drawn) if edge[0] != edge[1] or edge[2]]
    return {"nodes": [asdict(node) for node in nodes], "edges": kept}


def _drawn(names: Sequence[str], by_name: Mapping[str, Sequence[NodeProgress]]) -> DrawnNode:
    runs = [run for name in names for run in by_name[name]]
    state = combined_state(runs)
    title = names[0]
    facts = [str(STATE_WORDS[state])]
    if len(runs) == 1:
        facts = [state_in_words(runs[0])]
    if len(names) > 1:
        title = _("%(count)s nodes") % {"count": len(names)}
    elif len(runs) > 1:
        facts.append(_("%(count)s runs") % {"count": len(runs)})
    below = sum(len(run.children) for run in runs)
    if below:
        facts.append(_("%(count)s below") % {"count": below})
    return DrawnNode(names[0], title, state, " · ".join(facts))


def _folded(
    by_name: Mapping[str, Sequence[NodeProgress]], edges: Sequence[tuple[str, str, str]]
) -> dict[str, str]:
    """Return, for each node, the first of those that it is folded with: those beside it, or before it in a chain."""
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    for source, target, _route in edges:
        before[target].add(source)
        after[source].add(target)
    shown: dict[str, str] = {}
    first_alike: dict[object, str] = {}
    for name, runs in by_name.items():
        state = combined_state(runs)
        alike = state, frozenset(before[name]), frozenset(after[name])
        shown[name] = first_alike.setdefault(alike, name)
        [source, *others] = before[name] or [""]
        is_chained = not others and len(after[source]) == 1 and source in shown
        if is_chained and combined_state(by_name[source]) is state:
            shown[name] = shown[source]
    return shown


def _routes(routes: Iterable[object]) -> str:
    words = {"__DEFAULT__": _("otherwise")}
    return ", ".join(words.get(str(route), str(route)) for route in routes)

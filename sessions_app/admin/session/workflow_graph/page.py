"""Data of the graph page of an invocation, as it was after any of its events."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import QueryDict

from runtime.valid_text import storable
from runtime.workflow.progress import OPEN_STATES, NodeProgress, NodeState
from sessions_app.admin.framework.links import session_url, trace_url
from sessions_app.admin.session.trace.step import number_in
from sessions_app.admin.session.workflow_graph.drawing import draw
from sessions_app.history.workflow_progress import InvocationProgress, load_progress
from sessions_app.models import Session
from sessions_app.rendering.audit_values import format_duration, format_json
from sessions_app.rendering.workflow_card import state_in_words

MAX_RUNS = 200
"""Number of runs at the beginning of a page's list, and largest number of later ones that staff may act on."""


@dataclass(frozen=True)
class RunRow:
    """A run of a node, or a node that has not run.

    Attributes:
        anchor: target of the links of the drawing; empty except for the first run of a node.
    """

    progress: NodeProgress
    anchor: str
    words: str
    duration: str
    input: str
    output: str
    seq: int | None
    event_url: str


@dataclass(frozen=True)
class DrawnWorkflow:
    """A workflow: its drawing for the script, and its runs."""

    progress: NodeProgress
    words: str
    drawing: dict[str, Any]
    rows: list[RunRow]
    hidden: int


@dataclass(frozen=True)
class GraphPage:
    """Template context of the page.

    Attributes:
        at: `seq` of the event that the page shows the states after.
        seqs: `seq` of each event of the invocation.
        failed_id: id of the invocation to try again; empty if none has failed.
        node: name of the node whose runs are listed; empty for all.
    """

    session: Session
    invocation_id: str
    workflows: list[DrawnWorkflow]
    at: int
    seqs: list[int]
    node: str
    is_cut: bool
    failed_id: str

    @property
    def is_now(self) -> bool:
        """True if the page shows the present, in which staff may act."""
        return self.at == self.seqs[-1]

    @property
    def trace_url(self) -> str:
        return trace_url(self.session.pk, self.invocation_id)

    @property
    def event_url(self) -> str:
        """URL of the event that the page shows the states after."""
        return session_url(self.session.pk, seq=self.at)

    @property
    def place(self) -> int:
        """Number of the event among the invocation's, from 1."""
        return self.seqs.index(self.at) + 1

    @property
    def times(self) -> list[tuple[str, int]]:
        """Events to step to: `rel` of the link and `seq`."""
        place = self.place
        steps = []
        if place > 1:
            steps += [("first", self.seqs[0]), ("prev", self.seqs[place - 2])]
        if place < len(self.seqs):
            steps += [("next", self.seqs[place]), ("last", self.seqs[-1])]
        return steps


def load_graph_page(session: Session, query: QueryDict) -> GraphPage | None:
    """Load the requested page; return None if the session has no such invocation, or it has no workflow."""
    invocation_id = storable(query.get("invocation", ""))
    whole = load_progress(session, invocation_id)
    if not whole.runs:
        return None
    at = whole.seqs[-1]
    shown = whole
    asked = number_in(query.get("at", ""))
    if asked in whole.seqs and asked != at:
        at = asked
        shown = load_progress(session, invocation_id, until=at)
    node = query.get("node", "")
    workflows = [_workflow(session, shown, number, node) for number in range(len(shown.runs))]
    return GraphPage(
        session=session,
        invocation_id=invocation_id,
        workflows=workflows,
        at=at,
        seqs=whole.seqs,
        node=node,
        is_cut=whole.is_cut,
        failed_id=whole.failed_id,
    )


def _workflow(session: Session, loaded: InvocationProgress, number: int, node: str) -> DrawnWorkflow:
    run = loaded.runs[number]
    runs = [each for child in run.root.children for each in child.walk() if node in ("", each.name)]
    drawing = draw(run.graph, run.root.children)
    rows: list[RunRow] = []
    anchored: set[str] = set()
    for each in _listed(runs, {drawn["id"] for drawn in drawing["nodes"]}):
        rows.append(_row(session, loaded, each, "" if each.name in anchored else f"node-{each.name}"))
        anchored.add(each.name)
    return DrawnWorkflow(
        progress=run.root,
        words=state_in_words(run.root),
        drawing=drawing,
        rows=rows,
        hidden=len(runs) - len(rows),
    )


def _listed(runs: Sequence[NodeProgress], drawn: set[str]) -> list[NodeProgress]:
    """Return the first runs, the first run of each drawn node, and later runs that staff may act on.

    The links of the drawing lead to the first run of each node, so this is listed however many runs there are.
    """
    listed = list(runs[:MAX_RUNS])
    unlisted = drawn - {run.name for run in listed}
    actionable = 0
    for run in runs[MAX_RUNS:]:
        if run.name in unlisted:
            unlisted.discard(run.name)
            listed.append(run)
        elif (run.state in OPEN_STATES or run.state is NodeState.FAILED) and actionable < MAX_RUNS:
            actionable += 1
            listed.append(run)
    return listed


def _row(session: Session, loaded: InvocationProgress, progress: NodeProgress, anchor: str) -> RunRow:
    seq = loaded.seq_of(progress)
    duration = ""
    if progress.began_at is not None and progress.ended_at is not None:
        duration = format_duration(timedelta(seconds=max(0.0, progress.ended_at - progress.began_at)))
    return RunRow(
        progress=progress,
        anchor=anchor,
        words=state_in_words(progress),
        duration=duration,
        input=_json(progress.input),
        output=_json(progress.output),
        seq=seq,
        event_url="" if seq is None else session_url(session.pk, seq=seq),
    )


def _json(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float | bool | list | dict):
        value = value.model_dump(mode="json", exclude_none=True)
    return format_json(value)

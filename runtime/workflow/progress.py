"""Progress of a workflow as people see it: a pure function of the graph and the committed events.

    pending -> running -> done | failed | stopped
                  |  ^
                  v  |
        waiting (for a person) | in background (a job) | retrying (after a failed attempt)

A node that no run can reach any more is skipped. The runs are those of the `Plan`, so the progress says what the
engine would do next.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from runtime.agents.base_agent import BaseAgent
from runtime.events.event import Event
from runtime.events.invocation_log import InvocationLog, RunRecord, node_path_of
from runtime.events.node_info import name_of_run
from runtime.workflow.agent_node import AgentNode
from runtime.workflow.base_node import BaseNode
from runtime.workflow.graph import Graph
from runtime.workflow.plan import NodeRun, Plan
from runtime.workflow.tool_node import ToolNode
from runtime.workflow.workflow import Workflow


class NodeState(StrEnum):
    """State of a node, or of a run of a node."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    WAITING = "waiting"
    IN_BACKGROUND = "background"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    SKIPPED = "skipped"


OPEN_STATES = frozenset({NodeState.RUNNING, NodeState.RETRYING, NodeState.WAITING, NodeState.IN_BACKGROUND})


@dataclass
class NodeProgress:
    """A run of a node, or a node without a run.

    Attributes:
        path: path of the run; empty without a run.
        rank: row of the node; nodes of the same rank may run at once.
        is_join: True for a node that only waits for others.
        began_at: time when the run could begin, in seconds since the epoch; None if unknown.
        ended_at: time of its last event once it has ended, with or without success.
        attempts: number of attempts that have begun.
        pending_calls: ids of the calls that the run waits for.
        waits_until: time when a job of the run begins, in seconds since the epoch; None if it has begun.
        error: code of the error that ended the last attempt.
        place: place of the run's latest event in the list of events, from 0; None without an event.
        children: nodes of a nested workflow, and nodes that the node's code runs.
    """

    name: str
    path: str = ""
    rank: int = 0
    state: NodeState = NodeState.PENDING
    is_join: bool = False
    input: Any = None
    output: Any = None
    route: Any = None
    began_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    pending_calls: list[str] = field(default_factory=list)
    waits_until: float | None = None
    error: str = ""
    place: int | None = None
    children: "list[NodeProgress]" = field(default_factory=list)

    def walk(self) -> "Iterator[NodeProgress]":
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class NodeJob:
    """A call of a node that runs as a job.

    Attributes:
        attempts: number of the job's attempts that have begun.
        begins_at: time when the job begins, in seconds since the epoch; None if it has begun.
        asks: True while the job waits for a person.
    """

    attempts: int = 0
    begins_at: float | None = None
    asks: bool = False


@dataclass(frozen=True)
class WorkflowProgress:
    """One run of a workflow in an invocation; `graph` is None if the agent is no workflow any more."""

    root: NodeProgress
    graph: Graph | None


def progress_of(
    root: BaseAgent | None,
    events: Sequence[Event],
    *,
    is_running: bool,
    jobs: Mapping[str, NodeJob] = MappingProxyType({}),
) -> list[WorkflowProgress]:
    """Return the runs of workflows in an invocation, oldest first.

    Args:
        root: root agent, which has the graphs; None if the app is not served.
        events: effective events of the invocation, oldest first.
        is_running: True while a process runs the invocation, or will soon.
        jobs: the jobs of the invocation, by the id of their calls.
    """
    found: list[WorkflowProgress] = []
    numbered = list(enumerate(events))
    answers = _answers_in(numbered)
    message = next((event.text() for event in events if event.author == "user"), "")
    for path, own in _by_child("", numbered).items():
        graph: Graph | None = None
        if root is not None:
            agent = root.find_agent(name_of_run(path))
            if isinstance(agent, Workflow):
                graph = agent.graph
        first, first_event = own[0]
        walk = _Walk(first_event.invocation_id, is_running, jobs)
        # Nothing is stored when a workflow begins: it begins after the event before its first one.
        began_at = events[max(0, first - 1)].timestamp
        progress = NodeProgress(name_of_run(path), path, input=message, began_at=began_at)
        progress.children = walk.children(graph, path, _with_answers(own, answers), progress)
        _settle_workflow(progress, own)
        found.append(WorkflowProgress(progress, graph))
    return found


Numbered = Sequence[tuple[int, Event]]
_BY_WEIGHT = (
    NodeState.FAILED,
    NodeState.WAITING,
    NodeState.RUNNING,
    NodeState.RETRYING,
    NodeState.IN_BACKGROUND,
    NodeState.STOPPED,
    NodeState.DONE,
    NodeState.PENDING,
    NodeState.SKIPPED,
)


class _Walk:
    """A walk through the events of an invocation."""

    def __init__(self, invocation_id: str, is_running: bool, jobs: Mapping[str, NodeJob]) -> None:
        self._invocation_id = invocation_id
        self._is_running = is_running
        self._jobs = jobs

    def children(
        self, graph: Graph | None, path: str, numbered: Numbered, parent: NodeProgress
    ) -> list[NodeProgress]:
        """Return the nodes directly below `path`; without a graph, those that the events tell of."""
        level = _Level(graph, path, self._invocation_id, parent)
        for _, event in numbered:
            level.add(event)
        answers = _answers_in(numbered)
        events_of = _by_child(path, numbered)
        for child, own in events_of.items():
            progress = level.progress_at(child)
            node = level.nodes.get(child)
            inner = None
            if isinstance(node, AgentNode) and isinstance(node.agent, Workflow):
                inner = node.agent.graph
            is_leaf = all(node_path_of(event) == child for _, event in own)
            if inner is not None or not is_leaf:
                progress.children = self.children(inner, child, _with_answers(own, answers), progress)
            progress.place = _place_of(child, own)
        for progress in level.begun:
            errors = [event for _, event in events_of.get(progress.path, ()) if event.error_code]
            self._settle(progress, level, errors)
        return [*level.begun, *level.not_begun()]

    def _settle(self, progress: NodeProgress, level: "_Level", errors: Sequence[Event]) -> None:
        """Set the state of a node that has run, and what its last event says.

        Args:
            errors: errors in the run that ended an invocation, oldest first.
        """
        record = level.log.run(progress.path)
        pending = level.log.pending_calls(progress.path)
        progress.pending_calls = [made.call.id or "" for made in pending]
        jobs_of_tool: list[NodeJob] = []
        if isinstance(level.nodes.get(progress.path), ToolNode):
            jobs_of_tool = self._jobs_of(made.call.id or "" for made in record.calls)
        progress.attempts = _count_attempts(record, len(errors), self._is_running, jobs_of_tool)
        if errors and not record.has_ended:
            progress.error = errors[-1].error_code or ""
        if record.has_ended:
            progress.state = NodeState.DONE
            progress.output = record.output
            progress.route = record.route
        elif pending:
            progress.state = NodeState.WAITING
            in_background = [job for job in self._jobs_of(progress.pending_calls) if not job.asks]
            if in_background:
                progress.state = NodeState.IN_BACKGROUND
                progress.waits_until = in_background[0].begins_at
        elif errors and not self._is_running:
            progress.state = NodeState.FAILED
            progress.ended_at = errors[-1].timestamp
        elif not self._is_running:
            progress.state = NodeState.STOPPED
        elif record.failed_attempts:
            progress.state = NodeState.RETRYING
        else:
            progress.state = NodeState.RUNNING

    def _jobs_of(self, call_ids: Iterable[str]) -> list[NodeJob]:
        return [self._jobs[call_id] for call_id in call_ids if call_id in self._jobs]


def _count_attempts(record: RunRecord, errors: int, is_running: bool, jobs: Iterable[NodeJob]) -> int:
    """Return the number of attempts of a run that have begun.

    They are the failed attempts that the log records, the attempts that ended an invocation by an error, and the last
    attempt unless it is one of these. The log has a single call for all attempts of a job, so those after the job's
    first are added.

    Args:
        errors: number of errors in the run that ended an invocation.
    """
    attempts = record.failed_attempts + errors
    if record.has_ended or is_running or not errors:
        attempts += 1
    return attempts + sum(max(0, job.attempts - 1) for job in jobs)


def _place_of(path: str, own: Numbered) -> int | None:
    """Return the place of the latest event of the run at `path`, or of the latest error below it."""
    for number, event in reversed(own):
        if node_path_of(event) == path or event.error_code:
            return number
    return None


class _Level:
    """The runs directly below one path, in the order in which they began."""

    def __init__(self, graph: Graph | None, path: str, invocation_id: str, parent: NodeProgress) -> None:
        self.log = InvocationLog(invocation_id, 0)
        self.nodes: dict[str, BaseNode] = {}
        self._graph = graph
        self._path = path
        self._events: list[Event] = []
        self._begun: dict[str, NodeProgress] = {}
        self._plan: Plan | None = None
        self._ranks: dict[str, int] = {}
        if graph is not None:
            self._plan = Plan(graph, name_of_run(path), path, parent.input, None)
            self._begin_next(0, parent.began_at)

    @property
    def begun(self) -> list[NodeProgress]:
        return list(self._begun.values())

    def add(self, event: Event) -> None:
        """Take in the next event."""
        self._events.append(event)
        self.log.read(self._events)
        path = node_path_of(event)
        if not event.node_info or not event.node_info.has_ended or path.rpartition("/")[0] != self._path:
            return
        progress = self.progress_at(path)
        progress.ended_at = event.timestamp
        if self._plan is not None:
            self._begin_next(progress.rank + 1, event.timestamp)

    def progress_at(self, path: str) -> NodeProgress:
        """Return the progress of a run; a run that the graph does not expect comes after all others."""
        if path not in self._begun:
            rank = max(self._ranks.values(), default=-1) + 1
            self._begun[path] = NodeProgress(name_of_run(path), path, rank)
        return self._begun[path]

    def not_begun(self) -> Iterator[NodeProgress]:
        """Yield the nodes of the graph that have not run."""
        if self._graph is None:
            return
        awaited = self._awaited_names()
        for name, node in self._graph.nodes.items():
            if name in self._ranks:
                continue
            names_before = self._graph.names_before[name]
            rank = 1 + max((self._ranks.get(other, -1) for other in names_before), default=-1)
            self._ranks[name] = rank
            progress = NodeProgress(name, rank=rank, is_join=node.waits_for_all)
            if name not in awaited:
                progress.state = NodeState.SKIPPED
            yield progress

    def _begin_next(self, rank: int, began_at: float | None) -> None:
        if self._plan is None:
            return
        for run in self._plan.next_runs(self.log):
            self._begin(run, rank, began_at)

    def _begin(self, run: NodeRun, rank: int, began_at: float | None) -> None:
        if run.node.waits_for_all and self._graph is not None:
            # Its input may have come from the shorter of two branches last.
            names = self._graph.names_before[run.node.name]
            rank = max(self._ranks.get(name, 0) for name in names) + 1
        self.nodes[run.path] = run.node
        self._ranks[run.node.name] = rank
        progress = NodeProgress(run.node.name, run.path, rank, is_join=run.node.waits_for_all)
        progress.input = run.input
        progress.began_at = began_at
        self._begun[run.path] = progress

    def _awaited_names(self) -> set[str]:
        """Return the names of the nodes that can still run."""
        if self._graph is None:
            return set()
        not_done = [progress.name for progress in self.begun if progress.state is not NodeState.DONE]
        return self._graph.names_reached(not_done)


def combined_state(nodes: Iterable[NodeProgress]) -> NodeState:
    """Return the state that speaks for several nodes: the one that needs a person most."""
    states = {node.state for node in nodes}
    for state in _BY_WEIGHT:
        if state in states:
            return state
    return NodeState.DONE


def _settle_workflow(progress: NodeProgress, own: Numbered) -> None:
    """Set the state of a workflow by the states of its nodes."""
    progress.attempts = 1
    progress.state = combined_state(progress.children)
    progress.place = own[-1][0]
    if progress.state not in OPEN_STATES:
        progress.ended_at = own[-1][1].timestamp


def _by_child(path: str, numbered: Numbered) -> dict[str, list[tuple[int, Event]]]:
    """Return the events below `path`, by the path of the run directly below it.

    The work of an agent for another, which is a call, is left out.
    """
    found: dict[str, list[tuple[int, Event]]] = {}
    above = f"{path}/" if path else ""
    for number, event in numbered:
        event_path = node_path_of(event)
        if not event_path or not event_path.startswith(above):
            continue
        name, _, _ = event_path.removeprefix(above).partition("/")
        found.setdefault(above + name, []).append((number, event))
    for child, own in list(found.items()):
        if all(event.isolation_scope for _, event in own):
            del found[child]
    return found


def _answers_in(numbered: Numbered) -> Numbered:
    """Return the events without a path: the answers to questions of nodes."""
    return [(number, event) for number, event in numbered if not node_path_of(event)]


def _with_answers(own: Numbered, answers: Numbered) -> Numbered:
    return sorted([*own, *answers], key=_number_of)


def _number_of(item: tuple[int, Event]) -> int:
    return item[0]

"""Plan: which nodes of a workflow run next, a function of the graph and the committed events (contract W3).

    a run ends -> its output goes to the nodes that follow -> each gets a new run, in the order of the log

The plan acts on nothing. After a crash, another process makes the same plan from the same events.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtime.events.event import child_of
from runtime.events.invocation_log import InvocationLog, RunRecord
from runtime.events.node_info import name_of_run
from runtime.workflow.base_node import START, BaseNode
from runtime.workflow.graph import Graph


@dataclass(slots=True)
class NodeRun:
    """A run of a node that has to happen.

    Attributes:
        path: path of the run.
        input: output of the node before it.
        branch: branch of the run's events.
    """

    node: BaseNode
    path: str
    input: Any
    branch: str | None


class _Queue:
    """Runs of one node that have not ended, in their order: the first runs, the others wait for it.

    Attributes:
        first_number: number of the first run, from 1.
        inputs: input and branch of each run.
    """

    def __init__(self, node: BaseNode, path: str) -> None:
        self.node = node
        self.first_number = 1
        self.inputs: deque[tuple[Any, str | None]] = deque()
        self._path = f"{path}/{node.name}@"

    @property
    def next_number(self) -> int:
        return self.first_number + len(self.inputs)

    @property
    def first_path(self) -> str:
        return f"{self._path}{self.first_number}"

    def first_run(self) -> NodeRun:
        node_input, branch = self.inputs[0]
        return NodeRun(self.node, self.first_path, node_input, branch)


class Plan:
    """The runs of a workflow.

    Args:
        name: name of the workflow.
        path: path of the workflow's own run.
        workflow_input: input of the first nodes.
        branch: branch of the workflow.
    """

    def __init__(self, graph: Graph, name: str, path: str, workflow_input: Any, branch: str | None) -> None:
        self._graph = graph
        self._name = name
        self.path = path
        self._branch = branch
        self._queues = {name: _Queue(node, path) for name, node in graph.nodes.items()}
        self._arrivals: dict[str, dict[str, Any]] = {}
        self._position = 0
        self._ready: dict[str, _Queue] = {}
        """Queues whose first run `next_runs` has not returned yet, by the node's name."""
        self.outputs: dict[str, Any] = {}
        """Outputs of the nodes that no edge leaves, by name. A node without an output is left out."""
        self._follow(START.name, None, workflow_input, branch)

    def is_last(self, run: NodeRun) -> bool:
        """Return True if the run is of a node that no edge leaves."""
        # The code of a node may run such a node, too.
        is_own = run.path.rpartition("/")[0] == self.path
        return is_own and self._graph.is_terminal(run.node.name)

    def next_runs(self, log: InvocationLog) -> Iterator[NodeRun]:
        """Take in the runs that have ended since the last call; yield the runs that can begin now, each once."""
        ended = log.ended_below(self.path)
        for path in ended[self._position :]:
            self._end(path, log.run(path))
        self._position = len(ended)
        ready = self._ready
        self._ready = {}
        for queue in ready.values():
            run = queue.first_run()
            # It may have ended where the plan did not expect it, because the graph has changed.
            if not log.run(run.path).has_ended:
                yield run

    def _end(self, path: str, record: RunRecord) -> None:
        name = name_of_run(path)
        queue = self._queues.get(name)
        # A path that is not expected: the graph has changed since. What still fits continues.
        if queue is None or not queue.inputs or queue.first_path != path:
            return
        _, branch = queue.inputs.popleft()
        queue.first_number += 1
        self._ready.pop(name, None)
        if queue.inputs:
            self._ready[name] = queue
        if record.output is not None and self._graph.is_terminal(name):
            self.outputs[name] = record.output
        self._follow(name, record.route, record.output, branch)

    def _follow(self, name: str, route: Any, output: Any, branch: str | None) -> None:
        """Queue the runs that follow a run of the node `name`."""
        followers = self._graph.nodes_after(name, route)
        for node in followers:
            if node.waits_for_all:
                self._arrive(node, name, output)
                continue
            # Nodes that run at once do not see each other's events, as in a ParallelAgent.
            own_branch = branch
            if len(followers) > 1:
                number = self._queues[node.name].next_number
                own_branch = child_of(branch, self._name, f"{node.name}@{number}")
            self._queue(node, output, own_branch)

    def _arrive(self, node: BaseNode, name: str, output: Any) -> None:
        """Note the output of a node before one that waits for all; queue its run when all have arrived."""
        arrived = self._arrivals.setdefault(node.name, {})
        arrived[name] = output
        if arrived.keys() < self._graph.names_before[node.name]:
            return
        del self._arrivals[node.name]
        # In the order of the graph: the order of the ends differs from run to run.
        outputs = {before: arrived[before] for before in self._graph.nodes if before in arrived}
        self._queue(node, outputs, self._branch)

    def _queue(self, node: BaseNode, node_input: Any, branch: str | None) -> None:
        queue = self._queues[node.name]
        queue.inputs.append((node_input, branch))
        if len(queue.inputs) == 1:
            self._ready[node.name] = queue

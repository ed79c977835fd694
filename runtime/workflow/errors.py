"""Errors of workflows."""

from collections.abc import Sequence

from runtime.errors import AdkError, ConfigurationError


class GraphValidationError(ConfigurationError):
    """A graph cannot run. The message names the nodes and the remedy."""


class SeveralOutputsError(ConfigurationError):
    """More than one node that no edge leaves has given an output."""

    def __init__(self, workflow_name: str, node_names: Sequence[str]) -> None:
        names = " and ".join(map(repr, node_names))
        super().__init__(
            f"Workflow {workflow_name!r} has several outputs, of the nodes {names}. Let them lead to a JoinNode."
        )


class NodeDataError(AdkError, ValueError):
    """A node cannot use its input, or its output cannot be stored."""


class NodeTimeoutError(AdkError):
    """A node was not done in time.

    Attributes:
        node_name: name of the node.
        timeout: its limit in seconds.
    """

    def __init__(self, *, node_name: str, timeout: float) -> None:
        super().__init__(f"Node {node_name!r} was not done within {timeout:g} seconds.")
        self.node_name = node_name
        self.timeout = timeout


class NodeWaitsError(BaseException):
    """Raised by `run_node` when the node waits for an answer: the caller waits, too.

    No `Exception`, because the code of a node must not catch it.
    """

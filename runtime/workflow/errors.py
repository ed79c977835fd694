"""Errors of workflows."""

from runtime.errors import AdkError, ConfigurationError


class GraphValidationError(ConfigurationError):
    """A graph cannot run. The message names the nodes and the remedy."""


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

"""NodeContext: what the code of a node can read and do."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol

from runtime.context import Context, InvocationContext
from runtime.events.event_actions import EventActions
from runtime.events.invocation_log import RunRecord
from runtime.events.node_info import run_id_of

Slots = AbstractAsyncContextManager[Any]
"""Limit of the nodes that run at once: an attempt of a node enters it."""
UNLIMITED: Slots = nullcontext()


class RunChildNode(Protocol):
    """Function that runs a node for `NodeContext.run_node`."""

    async def __call__(
        self, node: Any, node_input: Any, run_id: str | None, *, use_sub_branch: bool, slots: Slots
    ) -> Any: ...


class NodeContext(Context):
    """Context of a run of a node.

    Attributes:
        node_path: path of the run, such as `refund@1/check_stock@2`.
        resume_inputs: answers to the node's questions so far, by the question's id.
        has_begun: True if an earlier attempt, or the part before an interruption, has left an event.
        attempt_count: number of the attempt, from 1.
        run_child_node: the function behind `run_node`.
        route: set it to choose the edges to follow.
    """

    def __init__(
        self, ctx: InvocationContext, path: str, record: RunRecord, run_child_node: RunChildNode
    ) -> None:
        super().__init__(ctx)
        self.node_path = path
        self.has_begun = record.has_begun
        self.resume_inputs: Mapping[str, Any] = record.answers
        self.attempt_count = record.failed_attempts + 1
        self.run_child_node = run_child_node

    @property
    def run_id(self) -> str:
        """Id of the run: its number among the runs of the node."""
        return run_id_of(self.node_path)

    @property
    def route(self) -> Any:
        """Route of the node's edges to follow; None: only edges without a route."""
        return self.actions.route

    @route.setter
    def route(self, route: Any) -> None:
        self.actions.route = route

    def record(self) -> RunRecord:
        """Return what the events say about this run."""
        return self.invocation.updated_log().run(self.node_path)

    def take_actions(self) -> EventActions:
        """Return what the code has changed since the last call, for an event."""
        self.state.note_changes()
        taken = self.actions.model_copy(
            update={
                "state_delta": dict(self.actions.state_delta),
                "artifact_delta": dict(self.actions.artifact_delta),
            }
        )
        # Emptied, not replaced: the code may hold the state.
        self.actions.state_delta.clear()
        self.actions.artifact_delta.clear()
        return taken

    def discard_changes(self) -> None:
        """Take back the state that a failed attempt has written and no event has stored."""
        self.state.note_changes()
        state = self.session.state
        stored = self.invocation.scope.own_state
        for key in self.actions.state_delta:
            if key in stored:
                state[key] = stored[key]
            else:
                state.pop(key, None)
        self.actions.state_delta.clear()

    async def run_node(
        self, node: Any, node_input: Any = None, *, run_id: str | None = None, use_sub_branch: bool = False
    ) -> Any:
        """Run a node, or what can become one, and return its output.

        When this code runs again, after a crash or an answer, a node that has ended does not: its output is in the log.
        `run_id` identifies the run; by default it is the number of the call among the nodes of that name.

        Raises:
            ConfigurationError: two nodes have the same name and `run_id`.
        """
        return await self.run_child_node(
            node, node_input, run_id, use_sub_branch=use_sub_branch, slots=UNLIMITED
        )

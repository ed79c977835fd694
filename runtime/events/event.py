"""Event: the immutable record of something that happened. Only events are committed.

An agent sees the events of its branch (`parent.child`) and of the branches above, but not of parallel or inner branches
(contract A5, Q9).
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_validator

from runtime import _platform, types
from runtime.events.event_actions import EventActions
from runtime.events.message import content_of
from runtime.events.node_info import NodeInfo
from runtime.models.llm_response import LlmResponse, parts_in, text_in

_PLACED = {"message", "state", "route", "node_info", "nodeInfo"}
"""Fields that an Event takes in another form."""


class Event(LlmResponse):
    """Content of a user, an agent or a tool, with its actions (contract E1, E2, E8).

    Attributes:
        author: `'user'` or the name of the agent.
        invocation_id: the invocation of the event.
        id: generated when absent.
        timestamp: seconds since the epoch.
        branch: dotted path of agents (`parent.child`) that limits the event's visibility; None: visible to all agents.
        long_running_tool_ids: ids of the long-running function calls in `content`.
        actions: the side effects.
        output: output of a workflow's node, or result of a task, as JSON values.
        node_info: the node's run that the event belongs to; None outside workflows.
        isolation_scope: id of the call that an agent works for; only this agent sees the event. None: see `branch`.
    """

    author: str = ""
    invocation_id: str = ""
    # Lambdas look the functions up at each call, so tests can replace them.
    id: str = Field(default_factory=lambda: _platform.new_id())
    timestamp: float = Field(default_factory=lambda: _platform.now())
    branch: str | None = None
    long_running_tool_ids: set[str] | None = None
    actions: EventActions = Field(default_factory=EventActions)
    output: Any = None
    node_info: NodeInfo | None = None
    isolation_scope: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _place_message_and_state(cls, data: Any) -> Any:
        """Accept `message` for the content, in any form that `content_of` reads, and `state` and `route` of actions."""
        if not isinstance(data, dict) or not data.keys() & _PLACED:
            return data
        fields = dict(data)
        # google-adk writes an empty path into each event outside of workflows.
        for name in ("node_info", "nodeInfo"):
            if isinstance(fields.get(name), dict) and not fields[name].get("path"):
                del fields[name]
        message = fields.pop("message", None)
        state = fields.pop("state", None)
        route = fields.pop("route", None)
        if message is not None:
            if fields.get("content") is not None:
                raise ValueError("Give the event a message or a content, not both: they are the same.")
            fields["content"] = content_of(message)
        if state is not None:
            actions = EventActions.model_validate(fields.get("actions") or {})
            given = EventActions(state_delta=state).state_delta
            fields["actions"] = actions.model_copy(update={"state_delta": given})
        if route is not None:
            actions = EventActions.model_validate(fields.get("actions") or {})
            fields["actions"] = actions.model_copy(update={"route": route})
        return fields

    @property
    def message(self) -> types.Content | None:
        """Alias of `content`, as in the constructor."""
        return self.content

    def is_final_response(self) -> bool:
        """Return True if the event is the agent's answer and not an intermediate result (contract E4)."""
        if self.actions.skip_summarization or self.long_running_tool_ids:
            return True
        # An event without content counts as final, as in google-adk's Python code; some ADK pages call it non-final.
        return not (
            self.get_function_calls()
            or self.get_function_responses()
            or self.partial
            or self.has_trailing_code_execution_result()
        )

    def has_trailing_code_execution_result(self) -> bool:
        """Return True if the last part is the result of the model's code."""
        parts = parts_in(self.content)
        return bool(parts) and parts[-1].code_execution_result is not None

    def is_long_running(self, call_id: str | None) -> bool:
        """Return True if the call is long-running: its response may come from outside."""
        return self.long_running_tool_ids is not None and call_id in self.long_running_tool_ids

    def text(self) -> str:
        """Return the joined text parts, without thoughts."""
        return text_in(self.content)


def index_of(events: Sequence[Event], event: Event) -> int:
    """Return the index of this very event: others may be equal to it. Search from the end, where most are."""
    for index in range(len(events) - 1, -1, -1):
        if events[index] is event:
            return index
    raise ValueError(f"Event {event.id!r} is not among these events.")


def child_of(branch: str | None, parent: str, child: str) -> str:
    """Return the branch of `child`, which runs in parallel below `parent`, an agent on `branch`."""
    name = f"{parent}.{child}"
    return f"{branch}.{name}" if branch else name


def is_visible_from(branch: str | None, event_branch: str | None) -> bool:
    """Return True if `event_branch` is `branch` or an ancestor of it, or when either is None."""
    if not branch or not event_branch:
        return True
    # With the dot, because `a.b` is not above `a.bc`.
    return branch == event_branch or branch.startswith(f"{event_branch}.")

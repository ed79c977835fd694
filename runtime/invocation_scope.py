"""InvocationScope: data shared by all agent calls of an invocation.

Agents are shared by all sessions, so nothing about a run may be stored on them. Each invocation has one scope; an agent
that runs as a tool has an invocation, and so a scope, of its own, with the calling scope as `caller`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.auth.auth_credential import AuthCredential
from runtime.errors import LlmCallsLimitExceededError
from runtime.events.allowances import Allowances
from runtime.events.event import Event
from runtime.events.invocation_log import InvocationLog
from runtime.events.summaries import session_allowances
from runtime.sessions.state import is_plain_json


class Failure(NamedTuple):
    """An exception, with the agent that raised it and the path of its node's run, if it is in a workflow."""

    error: Exception
    agent_name: str
    node_path: str | None = None


@dataclass
class InvocationScope:
    """Data shared by all agent calls of an invocation.

    Attributes:
        caller: scope of the invocation that runs this invocation as a tool, and counts its model calls (contract T6).
        is_resumable: True if agents record their states and long-running calls pause the invocation.
        llm_calls: number of model calls so far (contract L10).
        agent_states: latest recorded state of each agent, by name (contract R1).
        ended: names of the agents that recorded their end (contract R1).
        begins_at: position of the invocation's first event in the session's events.
        own_state: state values as loaded or committed, without later assignments of running code.
        credentials: credentials given with the message, by credential key (contract T8). They exist only here, not
            in the state, which templates and child sessions read, and not in events.
        known_allowances: allowances of the session, with the number of events searched for them.
        toolset_tools: tools of each toolset asked so far, with the toolset itself, by the toolset's `id`.
        log: events of the invocation, their calls and the runs of nodes; None until it is first asked for.
        failure: the latest exception that an agent raised.
        credential_lock: held while a credential is exchanged for a token: most codes can be exchanged only once.
    """

    caller: "InvocationScope | None" = None
    is_resumable: bool = False
    llm_calls: int = 0
    agent_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    begins_at: int = 0
    own_state: dict[str, Any] = field(default_factory=dict, repr=False)
    credentials: dict[str, AuthCredential] = field(default_factory=dict, repr=False)
    known_allowances: tuple[int, Allowances] | None = field(default=None, repr=False)
    # The toolset is in the value, too: `id` is reused once an object is freed.
    toolset_tools: dict[int, tuple[object, list[Any]]] = field(default_factory=dict, repr=False)
    log: InvocationLog | None = field(default=None, repr=False)
    failure: Failure | None = field(default=None, repr=False)
    credential_lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)

    def changed_in_place(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        """Return those entries of the delta that are plain JSON values of the session itself, changed in place."""
        changed = {}
        for key, value in delta.items():
            if self.own_state.get(key) is value and is_plain_json(value):
                changed[key] = value
        return changed

    def allowances(self, events: Sequence[Event]) -> Allowances:
        # Searching a long log for each call is slow; new events may bring new allowances.
        if self.known_allowances is None or self.known_allowances[0] != len(events):
            self.known_allowances = len(events), session_allowances(events)
        return self.known_allowances[1]

    def note_failure(self, error: Exception, agent_name: str, node_path: str | None = None) -> None:
        """Note the exception of an agent or a node. Agents and nodes above only pass the exception on."""
        if self.failure is None or self.failure.error is not error:
            self.failure = Failure(error, agent_name, node_path)
        elif self.failure.node_path is None:
            self.failure = Failure(error, self.failure.agent_name, node_path)

    def failure_with(self, error: Exception) -> Failure | None:
        """Return the agent, and the node, that raised the exception; None if no agent did."""
        if self.failure and self.failure.error is error:
            return self.failure
        return None

    def spend_llm_call(self, limit: int) -> None:
        """Count a model call.

        Raises:
            LlmCallsLimitExceededError: `limit` calls were made already; zero or less means no limit.
        """
        # One limit for the whole tree of invocations: otherwise agents as tools would escape it.
        if self.caller is not None:
            self.caller.spend_llm_call(limit)
            return
        if 0 < limit <= self.llm_calls:
            raise LlmCallsLimitExceededError(
                f"Max number of llm calls limit of {limit} exceeded, as RunConfig.max_llm_calls sets it. "
                "Raise the limit, or look for an agent that calls its tools in circles."
            )
        self.llm_calls += 1

"""InvocationScope: memory that all agent calls of one invocation share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.auth.auth_credential import AuthCredential
from runtime.errors import LlmCallsLimitExceededError
from runtime.sessions.deltas import is_plain


@dataclass
class InvocationScope:
    """What all agent calls of one invocation share: the count of model calls (spec L10), and who is where (R1).

    Attributes:
        caller: the scope of the invocation that runs this one as a tool (spec T6): model calls count there.
        is_resumable: whether agents record their states, and pause on long-running calls.
        agent_states: the latest recorded state of each agent, by name.
        ended: the agents that recorded their end.
        begins_at: how many of the session's events are older than the invocation.
        own_state: the session's values as they were loaded or committed, not what code has assigned since.
        credentials: what the person gave with the message, by credential key (spec T8). They are here, in memory,
            and nowhere else: not in the state, which templates and child sessions read, nor in an event.
    """

    caller: InvocationScope | None = None
    is_resumable: bool = False
    llm_calls: int = 0
    agent_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    begins_at: int = 0
    own_state: dict[str, Any] = field(default_factory=dict, repr=False)
    credentials: dict[str, AuthCredential] = field(default_factory=dict, repr=False)

    def changed_in_place(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        """What of a delta is the session's own, changed in place; JSON keeps it as it is."""
        return {
            key: value for key, value in delta.items() if self.own_state.get(key) is value and is_plain(value)
        }

    def spend_llm_call(self, limit: int) -> None:
        """Count one call.

        Raises:
            LlmCallsLimitExceededError: there were `limit` calls already; a limit of zero or less is none.
        """
        if self.caller is not None:
            self.caller.spend_llm_call(limit)
            return
        if 0 < limit <= self.llm_calls:
            raise LlmCallsLimitExceededError(
                f"The invocation made {limit} model calls, as many as RunConfig.max_llm_calls allows. "
                "Raise the limit, or look for an agent that calls its tools in circles."
            )
        self.llm_calls += 1

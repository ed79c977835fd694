"""The three contexts of a run, drawn once.

    invocation   one user message ... final response             InvocationContext (session, services, settings)
      agent call   one agent.run_async                            its own InvocationContext, sharing the invocation's
        step         one model call and its function calls
          hook         one callback or one tool call                Context (ReadonlyContext): state, actions, artifacts

`InvocationContext` is what agents get; `Context` is what callbacks and tools get (`CallbackContext` and `ToolContext`
are its public names); `ReadonlyContext` is what instruction providers and toolsets get.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from runtime import _platform, types
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import Owner
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig
from runtime.errors import ConfigurationError, LlmCallsLimitExceededError
from runtime.events.calls import events_of_invocation, pending_calls
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.rewound import drop_rewound
from runtime.events.tool_confirmation import ToolConfirmation
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.run_config import RunConfig
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.deltas import is_plain_json
from runtime.sessions.session import Session
from runtime.sessions.state import State

if TYPE_CHECKING:
    from runtime.agents.base_agent import BaseAgent
    from runtime.agents.context_cache_config import ContextCacheConfig
    from runtime.plugins.plugin_manager import PluginManager

RunChild = Callable[
    ["InvocationContext", "BaseAgent", types.Content, dict[str, Any]], AsyncGenerator[Event, None]
]


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
            key: value
            for key, value in delta.items()
            if self.own_state.get(key) is value and is_plain_json(value)
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


@dataclass
class InvocationContext:
    """What an agent call knows: whose turn it is, the session, the services (spec L2, Q7).

    Every agent call has its own, made by `for_agent`; the session, the services and the scope are shared.

    Attributes:
        branch: the path of parallel agents that this call is on; None on the trunk.
        end_invocation: set it to stop this agent call after the current step.
        resuming: whether this agent call goes on with what the log tells, rather than beginning.
        run_child: how a tool runs an agent in a session of its own; the Runner provides it.
        context_cache_config: how the model's provider may cache what the agents send.
    """

    invocation_id: str
    agent: BaseAgent
    session: Session
    session_service: BaseSessionService
    artifact_service: BaseArtifactService | None = None
    memory_service: BaseMemoryService | None = None
    plugin_manager: PluginManager | None = None
    user_content: types.Content | None = None
    run_config: RunConfig = field(default_factory=RunConfig)
    branch: str | None = None
    end_invocation: bool = False
    resuming: bool = False
    scope: InvocationScope = field(default_factory=InvocationScope)
    run_child: RunChild | None = None
    context_cache_config: ContextCacheConfig | None = None

    @property
    def app_name(self) -> str:
        """The app that the session belongs to."""
        return self.session.app_name

    @property
    def user_id(self) -> str:
        """The user that the session belongs to."""
        return self.session.user_id

    def for_agent(self, agent: BaseAgent) -> InvocationContext:
        """The context of a call of `agent` within this one."""
        return replace(self, agent=agent)

    @property
    def is_resumable(self) -> bool:
        """Whether agents of this invocation record their states (spec R1)."""
        return self.scope.is_resumable

    def set_agent_state(
        self, agent_name: str, *, agent_state: BaseModel | None = None, end_of_agent: bool = False
    ) -> None:
        """Note where an agent is; neither argument forgets what is known of it.

        Whatever is noted, the agents below begin anew when they are run next.
        """
        agent = self.agent.root_agent.find_agent(agent_name)
        below = agent.descendants() if agent else ()
        for name in (agent_name, *(descendant.name for descendant in below)):
            self.scope.ended.discard(name)
            self.scope.agent_states.pop(name, None)
        if end_of_agent:
            self.scope.ended.add(agent_name)
        elif agent_state is not None:
            self.scope.agent_states[agent_name] = agent_state.model_dump(mode="json")

    def has_ended(self, agent: BaseAgent) -> bool:
        """Whether the agent had recorded its end before the invocation was resumed."""
        return self.resuming and agent.name in self.scope.ended

    def is_paused(self, agent: BaseAgent) -> bool:
        """Whether the agent, or one below it, waits for an answer from outside; only resumable apps pause."""
        if not self.scope.is_resumable:
            return False
        return any(agent.find_agent(author) for author in pending_calls(self.events()).values())

    def events(self) -> list[Event]:
        """The invocation's events so far, on any branch."""
        return events_of_invocation(self.session.events[self.scope.begins_at :], self.invocation_id)

    def afresh(self) -> InvocationContext:
        """The same context for an agent that begins anew, also in a resumed invocation."""
        return replace(self, resuming=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> InvocationContext:
        """The same context with these fields changed: how agents written for ADK give a sub-agent one of its own."""
        return replace(self, **(update or {}))

    def on_branch(self, branch: str) -> InvocationContext:
        """The same context on another branch."""
        return replace(self, branch=branch)


class ReadonlyContext:
    """What may be read during a run."""

    def __init__(self, invocation: InvocationContext) -> None:
        self.invocation = invocation

    @property
    def _invocation_context(self) -> InvocationContext:
        """The invocation, by the name under which tools written for ADK reach for its session and services."""
        return self.invocation

    @property
    def invocation_id(self) -> str:
        """The id of the invocation."""
        return self.invocation.invocation_id

    @property
    def agent_name(self) -> str:
        """The name of the agent that is running."""
        return self.invocation.agent.name

    @property
    def user_content(self) -> types.Content | None:
        """The message that started the invocation."""
        return self.invocation.user_content

    @property
    def user_id(self) -> str:
        """The user that the session belongs to."""
        return self.invocation.user_id

    @property
    def session(self) -> Session:
        """The session of the invocation."""
        return self.invocation.session

    @property
    def run_config(self) -> RunConfig:
        """How the invocation is run."""
        return self.invocation.run_config

    @property
    def state(self) -> Mapping[str, Any]:
        """The session's state, read-only (spec Q16)."""
        return MappingProxyType(self.invocation.session.state)


class Context(ReadonlyContext):
    """What a callback or a tool works with; what it does lands in `actions` (spec S6, T3).

    Attributes:
        actions: go with the next event of the step.
        function_call_id: the call that a tool answers; None in callbacks.
        tool_confirmation: the person's answer when the call was to be confirmed (spec T7).
    """

    def __init__(
        self,
        invocation: InvocationContext,
        actions: EventActions | None = None,
        *,
        function_call_id: str | None = None,
        tool_confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(invocation)
        self.actions = actions or EventActions()
        self.function_call_id = function_call_id
        self.tool_confirmation = tool_confirmation
        self._state = State(invocation.session.state, self.actions.state_delta)

    @property
    def state(self) -> State:
        """The session's state; writes are committed with the next event."""
        return self._state

    @property
    def branch(self) -> str | None:
        """The branch of the agent call."""
        return self.invocation.branch

    def has_changes(self) -> bool:
        """Whether there is a change to record: of state, or of an artifact."""
        return self.state.has_delta() or bool(self.actions.artifact_delta)

    async def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Store a new version of a file and record it in the event (spec F2). Returns the version, from 0."""
        version = await self._artifacts().save_artifact(
            **owner_of(self.session), filename=filename, artifact=artifact
        )
        self.actions.artifact_delta[filename] = version
        return version

    async def load_artifact(self, filename: str, version: int | None = None) -> types.Part | None:
        """A version of a file, the latest when none is named; None when there is none."""
        return await self._artifacts().load_artifact(
            **owner_of(self.session), filename=filename, version=version
        )

    async def list_artifacts(self) -> list[str]:
        """The filenames that the session sees."""
        return await self._artifacts().list_artifact_keys(**owner_of(self.session))

    async def search_memory(self, query: str) -> SearchMemoryResponse:
        """What the user's earlier sessions say about the query."""
        service = self.invocation.memory_service
        if service is None:
            raise ConfigurationError("No memory service is set: give the Runner a memory_service.")
        return await service.search_memory(app_name=self.session.app_name, user_id=self.user_id, query=query)

    async def add_session_to_memory(self) -> None:
        """Remember this session for later ones, also what a summary stands for; not what was rewound."""
        service = self.invocation.memory_service
        if service is None:
            raise ConfigurationError("No memory service is set: give the Runner a memory_service.")
        whole = await self.invocation.session_service.get_session(**owner_of(self.session))
        session = whole or self.session
        counting = {"events": drop_rewound(session.events)}
        await service.add_session_to_memory(session.model_copy(update=counting))

    def request_confirmation(self, *, hint: str | None = None, payload: Any | None = None) -> None:
        """Ask the person to confirm this call; the call is run again with the answer (spec T7).

        The tool then reads `tool_confirmation`, which may be a no.
        """
        self.actions.requested_tool_confirmations[self._call_id("request_confirmation")] = ToolConfirmation(
            hint=hint or "", payload=payload
        )

    def request_credential(self, auth_config: AuthConfig) -> None:
        """Ask the person for a credential; the call is run again when it is there (spec T8).

        Secrets of the config, such as the client's, stay here: the request goes without them.
        """
        call_id = self._call_id("request_credential")
        self.actions.requested_auth_configs[call_id] = auth_config.without_secrets()

    def get_auth_response(self, auth_config: AuthConfig) -> AuthCredential | None:
        """The credential that the person gave with this invocation's message; None when there is none."""
        return self.invocation.scope.credentials.get(auth_config.credential_key)

    def run_agent(
        self, agent: BaseAgent, content: types.Content, state: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Run an agent in a session of its own that starts with `state`; artifacts and memory are shared."""
        if self.invocation.run_child is None:
            raise ConfigurationError(
                f"Agent {agent.name!r} cannot be run as a tool here: run its parent in a Runner."
            )
        return self.invocation.run_child(self.invocation, agent, content, state)

    def _call_id(self, what: str) -> str:
        if self.function_call_id is None:
            raise ConfigurationError(f"{what} is for tools: callbacks answer no function call.")
        return self.function_call_id

    def _artifacts(self) -> BaseArtifactService:
        if self.invocation.artifact_service is None:
            raise ConfigurationError("No artifact service is set: give the Runner an artifact_service.")
        return self.invocation.artifact_service


def new_invocation_id() -> str:
    """A fresh id of an invocation (spec L2)."""
    return f"e-{_platform.new_id()}"


def owner_of(session: Session) -> Owner:
    """Whose artifacts a session works with."""
    return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}

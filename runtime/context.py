"""Contexts of an invocation.

    invocation   one user message ... final response             InvocationContext (session, services, settings)
      agent call   one agent.run_async                            a copy: other agent, branch, resuming, end_invocation
        step         one model call and its function calls
          hook         one callback or one tool call                Context (ReadonlyContext): state, actions, artifacts

Agents get an `InvocationContext`; callbacks and tools get a `Context` (public names `CallbackContext` and
`ToolContext`); instruction providers and toolsets get a `ReadonlyContext`. All sessions share the agents themselves, so
everything about a run is kept in its context. All agent calls of an invocation share one session object and one
`InvocationScope`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from runtime import _platform, types
from runtime._pydantic_models import construct
from runtime.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.credential_service.base_credential_service import BaseCredentialService
from runtime.callbacks import Callbacks, PluginManagerProtocol
from runtime.errors import ConfigurationError, with_article
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.invocation_log import InvocationLog
from runtime.events.rewound import drop_rewound
from runtime.events.tool_confirmation import ToolConfirmation
from runtime.invocation_scope import InvocationScope
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry
from runtime.models.llm_request import ContextCacheConfig
from runtime.models.llm_response import LlmResponse
from runtime.run_config import RunConfig
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.session import Session
from runtime.sessions.state import State

ServiceT = TypeVar("ServiceT")


class AgentProtocol(Protocol):
    """Node of an agent tree, as contexts, tools and the engine see it. Implemented by `BaseAgent`.

    A protocol, because `BaseAgent` imports this module.
    """

    name: str
    description: str
    before_agent_callback: Callbacks[types.Content]
    after_agent_callback: Callbacks[types.Content]

    @property
    def parent_agent(self) -> "AgentProtocol | None": ...

    @property
    def sub_agents(self) -> "Sequence[AgentProtocol]": ...

    @property
    def root_agent(self) -> "AgentProtocol": ...

    @property
    def offers_transfer(self) -> bool: ...

    @property
    def works_for_parent(self) -> bool: ...

    def find_agent(self, name: str) -> "AgentProtocol | None": ...

    def get_agent(self, name: str) -> "AgentProtocol": ...

    def descendants(self) -> "Iterator[AgentProtocol]": ...

    def run_async(self, parent_context: "InvocationContext") -> AsyncGenerator[Event, None]: ...


RunAgentAsTool = Callable[
    ["Context", AgentProtocol, types.Content, dict[str, Any], bool], AsyncGenerator[Event, None]
]


@dataclass(frozen=True)
class NodeCall:
    """The run of a workflow's node, or the work for another agent, that an agent call belongs to.

    Attributes:
        path: path of the run.
        input: the node's input as a value, for an agent that is a workflow itself; None: the user's message.
        message: the input as the message to an LLM agent; None: the user's message.
        sees_history: True if the agent reads the conversation before its message.
        isolation_scope: id of the call that the agent works for; None unless it works for another agent.
        state_schema: model of the state's keys that the node may write; None: any.
    """

    path: str
    input: Any = None
    message: types.Content | None = None
    sees_history: bool = False
    isolation_scope: str | None = None
    state_schema: type[BaseModel] | None = None


@dataclass
class InvocationContext:
    """Context of an agent call (contract L2, Q7).

    `for_agent` makes the context of each agent call; session, services and scope are shared.

    Attributes:
        branch: dotted path of parallel agents above this call; None outside parallel agents.
        end_invocation: set to True to stop this agent call after the current step.
        resuming: True if this agent call continues from the invocation's events; False if it starts from the beginning.
        run_agent_as_tool: function of the Runner to run an agent as a tool, in a new session.
        context_cache_config: settings of the model provider's context cache.
        node: the run of a workflow's node that this call belongs to; None outside workflows.
        emit: function to commit an event of an agent that runs within a tool; None if the tools called run none.
    """

    invocation_id: str
    agent: AgentProtocol
    session: Session
    session_service: BaseSessionService
    artifact_service: BaseArtifactService | None = None
    memory_service: BaseMemoryService | None = None
    credential_service: BaseCredentialService | None = None
    plugin_manager: PluginManagerProtocol | None = None
    user_content: types.Content | None = None
    run_config: RunConfig = field(default_factory=RunConfig)
    branch: str | None = None
    end_invocation: bool = False
    resuming: bool = False
    scope: InvocationScope = field(default_factory=InvocationScope)
    run_agent_as_tool: RunAgentAsTool | None = None
    context_cache_config: ContextCacheConfig | None = None
    node: NodeCall | None = None
    emit: Callable[[Event], Awaitable[None]] | None = None

    @property
    def app_name(self) -> str:
        return self.session.app_name

    @property
    def user_id(self) -> str:
        return self.session.user_id

    @property
    def node_path(self) -> str:
        """Path of the node's run that this call belongs to; empty outside workflows."""
        return self.node.path if self.node else ""

    def for_agent(self, agent: AgentProtocol) -> "InvocationContext":
        """Return the context of a call of `agent` within this call."""
        return replace(self, agent=agent)

    @property
    def is_resumable(self) -> bool:
        """Return True if agents of this invocation record their states (contract R1)."""
        return self.scope.is_resumable

    def increment_llm_call_count(self) -> None:
        """Count a model call that an agent makes itself.

        Raises:
            LlmCallsLimitExceededError: `RunConfig.max_llm_calls` calls were made already.
        """
        self.scope.spend_llm_call(self.run_config.max_llm_calls)

    def set_agent_state(
        self, agent_name: str, *, agent_state: BaseModel | None = None, end_of_agent: bool = False
    ) -> None:
        """Set the state of an agent, or mark the agent as ended; with neither argument, clear both.

        Always clear the states of the descendants, so they start from the beginning.
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

    def has_ended(self, agent: AgentProtocol) -> bool:
        """Return True if the invocation is resumed and the agent has recorded its end."""
        return self.resuming and agent.name in self.scope.ended

    def is_paused(self, agent: AgentProtocol) -> bool:
        """Return True if the app is resumable and a call of the agent or of a descendant is pending."""
        # Only a resumable app can continue later, so in other apps the next agent runs although a call waits.
        if not self.scope.is_resumable:
            return False
        return any(agent.find_agent(made.event.author) for made in self.updated_log().made.pending())

    def events(self) -> list[Event]:
        """Return the invocation's events so far, on any branch."""
        return list(self.updated_log().events)

    def updated_log(self) -> InvocationLog:
        """Read the events that were committed since the last call, and return the log of the invocation."""
        if self.scope.log is None:
            self.scope.log = InvocationLog(self.invocation_id, self.scope.begins_at)
        self.scope.log.read(self.session.events)
        return self.scope.log

    def without_resuming(self) -> "InvocationContext":
        """Return a copy for an agent to start from the beginning within a resumed invocation."""
        return replace(self, resuming=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> "InvocationContext":
        # In google-adk this class is a pydantic model, and agents written for it use this method.
        return replace(self, **(update or {}))

    def on_branch(self, branch: str) -> "InvocationContext":
        return replace(self, branch=branch)


class ReadonlyContext:
    """Read access to the invocation, for instruction providers and toolsets."""

    def __init__(self, invocation_context: InvocationContext) -> None:
        self.invocation = invocation_context

    @property
    def _invocation_context(self) -> InvocationContext:
        """Alias of `invocation`, for tools written for google-adk."""
        return self.invocation

    @property
    def invocation_id(self) -> str:
        return self.invocation.invocation_id

    @property
    def agent_name(self) -> str:
        return self.invocation.agent.name

    @property
    def user_content(self) -> types.Content | None:
        """User message at the beginning of the invocation."""
        return self.invocation.user_content

    @property
    def app_name(self) -> str:
        return self.invocation.app_name

    @property
    def user_id(self) -> str:
        return self.invocation.user_id

    @property
    def session(self) -> Session:
        return self.invocation.session

    @property
    def run_config(self) -> RunConfig:
        return self.invocation.run_config

    @property
    def state(self) -> Mapping[str, Any]:
        """Read-only view of the session's state (contract Q16)."""
        return MappingProxyType(self.invocation.session.state)

    def get_credential(self, key: str) -> AuthCredential | None:
        """Return the credential given with this invocation's message under the key, or None."""
        return self.invocation.scope.credentials.get(key)


class Context(ReadonlyContext):
    """Context of a callback or tool call; collects changes in `actions` (contract S6, T3).

    Attributes:
        actions: actions of the step's next event.
        function_call_id: id of the tool's call; None in callbacks.
        tool_confirmation: the person's answer to a confirmation request (contract T7), or None.
        asked_payload: payload of the answered request, as the tool has asked; None for a new call.
        allowed_at: time of the earlier allowance that confirms the call (seconds since the epoch), or None.
        child_responses: answers, with usage, of models that the tool has asked, and of agents run as tools.
    """

    def __init__(
        self,
        invocation_context: InvocationContext,
        *,
        event_actions: EventActions | None = None,
        function_call_id: str | None = None,
        tool_confirmation: ToolConfirmation | None = None,
    ) -> None:
        super().__init__(invocation_context)
        self.actions = event_actions or construct(EventActions)
        self.function_call_id = function_call_id
        self.tool_confirmation = tool_confirmation
        self.asked_payload: Any = None
        self.allowed_at: float | None = None
        self.child_responses: list[LlmResponse] = []
        self._state = State(invocation_context.session.state, self.actions.state_delta)

    @property
    def state(self) -> State:
        """State of the session. Writes are committed with the next event."""
        return self._state

    @property
    def branch(self) -> str | None:
        return self.invocation.branch

    def has_changes(self) -> bool:
        """Return True if state or an artifact was changed."""
        return self.state.has_delta() or bool(self.actions.artifact_delta)

    async def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Store a new version of a file and record it in the event (contract F2). Return the version, from 0."""
        version = await self._artifacts().save_artifact(
            **session_args(self.session), filename=filename, artifact=artifact
        )
        self.actions.artifact_delta[filename] = version
        return version

    async def load_artifact(self, filename: str, version: int | None = None) -> types.Part | None:
        """Return a version of a file, by default the latest; None if it does not exist."""
        return await self._artifacts().load_artifact(
            **session_args(self.session), filename=filename, version=version
        )

    async def get_artifact_version(self, filename: str, version: int | None = None) -> ArtifactVersion | None:
        """Return the facts about a version, by default the latest; None if it does not exist."""
        args = session_args(self.session)
        return await self._artifacts().get_artifact_version(**args, filename=filename, version=version)

    async def list_artifacts(self) -> list[str]:
        """Return the filenames of the session's and the user's artifacts."""
        return await self._artifacts().list_artifact_keys(**session_args(self.session))

    async def search_memory(self, query: str) -> SearchMemoryResponse:
        """Search the user's earlier sessions."""
        return await self._memory().search_memory(app_name=self.app_name, user_id=self.user_id, query=query)

    async def add_session_to_memory(self) -> None:
        """Add this session's events to the memory: include summarized events, leave out rewound events."""
        service = self._memory()
        # The session of an invocation lacks the events that its latest summary replaces: load all of them.
        stored = await self.invocation.session_service.get_session(**session_args(self.session))
        session = stored or self.session
        update = {"events": drop_rewound(session.events)}
        await service.add_session_to_memory(session.model_copy(update=update))

    async def add_events_to_memory(
        self, *, events: Sequence[Event], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Add these events to the memory; keep the session's other entries."""
        await self._memory().add_events_to_memory(
            **session_args(self.session), events=events, custom_metadata=custom_metadata
        )

    async def add_memory(
        self, *, memories: Sequence[MemoryEntry], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Add entries to the memory of the user, if the memory service supports it."""
        await self._memory().add_memory(
            app_name=self.app_name, user_id=self.user_id, memories=memories, custom_metadata=custom_metadata
        )

    async def delete_memory(self, memory_id: str | None = None) -> None:
        """Forget the user's memory entry with the id of a found `MemoryEntry`, if the memory service supports it."""
        await self._memory().delete_memory(app_name=self.app_name, user_id=self.user_id, memory_id=memory_id)

    def request_confirmation(self, *, hint: str | None = None, payload: Any | None = None) -> None:
        """Ask the person to confirm this call. The answer reruns the call (contract T7).

        In the rerun `tool_confirmation` holds the answer, which may be a rejection.
        """
        self.actions.requested_tool_confirmations[self._call_id("request_confirmation")] = ToolConfirmation(
            hint=hint or "", payload=payload
        )

    def request_credential(self, auth_config: AuthConfig) -> None:
        """Ask the person for a credential. The answer reruns the call (contract T8).

        The request does not contain secrets of the config, such as the client secret.
        """
        call_id = self._call_id("request_credential")
        self.actions.requested_auth_configs[call_id] = auth_config.without_secrets()

    def get_auth_response(self, auth_config: AuthConfig) -> AuthCredential | None:
        """Return the credential given with this invocation's message, or None."""
        return self.get_credential(auth_config.credential_key)

    async def save_credential(self, auth_config: AuthConfig) -> None:
        """Keep the config's `exchanged_auth_credential` for later invocations of the user (contract T8)."""
        await self._credentials().save_credential(auth_config, self)

    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None:
        """Return the user's saved credential with the config's key, or None (contract T8)."""
        return await self._credentials().load_credential(auth_config, self)

    def run_agent(
        self,
        agent: AgentProtocol,
        content: types.Content,
        state: dict[str, Any],
        *,
        include_plugins: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """Run an agent in a new session with initial `state`; artifacts and memory are shared."""
        if self.invocation.run_agent_as_tool is None:
            raise ConfigurationError(
                f"Agent {agent.name!r} cannot be run as a tool here: run its parent in a Runner."
            )
        return self.invocation.run_agent_as_tool(self, agent, content, state, include_plugins)

    def _call_id(self, method: str) -> str:
        if self.function_call_id is None:
            raise ConfigurationError(f"{method} requires function_call_id, which only calls of tools have.")
        return self.function_call_id

    def _credentials(self) -> BaseCredentialService:
        return _require_service(self.invocation.credential_service, "Credential service is not initialized")

    def _memory(self) -> BaseMemoryService:
        return _require_service(self.invocation.memory_service, "Memory service is not available")

    def _artifacts(self) -> BaseArtifactService:
        return _require_service(self.invocation.artifact_service, "Artifact service is not initialized")


def _require_service(service: ServiceT | None, problem: str) -> ServiceT:
    """Return the service. Without a service, raise a ConfigurationError; `problem` begins with the service's name."""
    if service is None:
        name = f"{problem.split()[0].lower()}_service"
        raise ConfigurationError(f"{problem}: give the Runner {with_article(name)}.")
    return service


def new_invocation_id() -> str:
    """Return a new invocation id (contract L2)."""
    return f"e-{_platform.new_id()}"


def session_args(session: Session) -> SessionArgs:
    """Return the arguments to identify a session to services."""
    return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}

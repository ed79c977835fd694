"""BaseAgent: a named node of an agent tree that turns an invocation into events (contract A1).

An agent call runs in this order:

    before_agent -> _run_async_impl -> agent state "ended" (workflow agents of resumable apps) -> after_agent

All sessions share the agent objects, so an agent keeps nothing about a run on itself.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, ClassVar, TypeVar, final

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runtime import types
from runtime.callbacks import Callback, callback_list
from runtime.context import Context, InvocationContext
from runtime.context import Context as CallbackContext  # noqa: F401  # programs import it from here
from runtime.engine import hooks
from runtime.engine.build_events import agent_event, fill_in
from runtime.engine.resume.agent_progress import has_begun
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

AgentCallback = Callback[types.Content]
BeforeAgentCallback = AgentCallback | list[AgentCallback]
AfterAgentCallback = BeforeAgentCallback
_DEFAULT_MODE = "chat"
"""Default `mode` of google-adk's agents."""
UNSUPPORTED = {
    "mode": "Only an LlmAgent works on tasks. Leave the mode out.",
    "parallel_worker": "Put agents that run at once into a ParallelAgent.",
    "retry_config": "Model calls are retried by generate_content_config.http_options.retry_options, tools by "
    "ReflectAndRetryToolPlugin.",
    "timeout": "Limit the agent's model calls by generate_content_config.http_options.timeout.",
}
"""Unsupported fields of google-adk's agents, each with a remedy. A subclass may define fields of these names."""


class BaseAgentState(BaseModel):
    """Subclass this with the fields for your agent to find its place again."""

    model_config = ConfigDict(extra="forbid")


AgentStateT = TypeVar("AgentStateT", bound=BaseAgentState)


class BaseAgent(BaseModel):
    """Base class of agents. Subclasses implement `_run_async_impl`.

    Attributes:
        name: identifier, unique in the tree; not `user`.
        description: purpose of the agent; other agents' models read it to decide on a transfer.
        sub_agents: children; an agent has at most one parent.
        parent_agent: set by the parent.
        before_agent_callback: one callable or a list; a returned content replaces the agent's run.
        after_agent_callback: one callable or a list; a returned content is added after the agent's run.

    Raises:
        ConfigurationError: a sub-agent already has a parent.
        ValueError: the name is not allowed, or a field of google-adk's agents is not supported.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    description: str = ""
    parent_agent: "BaseAgent | None" = Field(default=None, init=False, repr=False, exclude=True)
    sub_agents: "list[BaseAgent]" = Field(default_factory=list)
    before_agent_callback: BeforeAgentCallback | None = None
    after_agent_callback: AfterAgentCallback | None = None
    canonical_before_agent_callbacks: ClassVar[property] = callback_list("before_agent_callback")
    canonical_after_agent_callbacks: ClassVar[property] = callback_list("after_agent_callback")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unsupported(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        supported = dict(fields)
        for name, remedy in UNSUPPORTED.items():
            if name in fields and name not in cls.model_fields:
                value = supported.pop(name)
                is_default = value is None or (name == "mode" and value == _DEFAULT_MODE)
                if not is_default:
                    raise ValueError(f"Agent {fields.get('name')!r} cannot have {name!r}: {remedy}")
        return supported

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name.isidentifier() or name == "user":
            raise ValueError(
                f"Agent name {name!r} is not allowed: it must be a valid Python identifier (letters, digits and "
                "underscores), and not 'user', which is reserved for the person."
            )
        return name

    def model_post_init(self, context: Any, /) -> None:
        # Checked before any is set: after an error the sub-agents can be used in another tree.
        for index, child in enumerate(self.sub_agents):
            parent = child.parent_agent
            # Listed twice: the parent is this agent, but not set yet.
            if any(child is earlier for earlier in self.sub_agents[:index]):
                parent = self
            if parent is not None:
                raise ConfigurationError(
                    f"Agent {child.name!r} already has a parent agent, {parent.name!r}, so it cannot also be a "
                    f"sub-agent of {self.name!r}. Use clone() to make a second agent."
                )
        for child in self.sub_agents:
            child.parent_agent = self

    @final
    async def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the before callbacks, `_run_async_impl` and the after callbacks; yield their events (contract C2, C3)."""
        ctx = parent_context.for_agent(self)
        if ctx.has_ended(self):
            return
        # Outside of the `try`: an agent that may not run has not failed itself.
        ctx.run_config.check_agent(self)
        try:
            # A resumed agent has committed events, so its before callbacks have run.
            if not (ctx.resuming and has_begun(ctx)):
                context = Context(ctx)
                reply = await hooks.before_agent(self, context)
                if reply is not None:
                    yield _ending_event(ctx, reply, context)
                    return
                if context.has_changes():
                    yield agent_event(ctx, None, context.actions)
            async with aclosing(self._run_async_impl(ctx)) as events:
                async for event in events:
                    yield fill_in(ctx, event)
            # A paused agent has not ended: the resume runs its after callbacks.
            if ctx.end_invocation or ctx.is_paused(self):
                return
            if ctx.is_resumable and self.sub_agents and self.records_progress:
                ctx.set_agent_state(self.name, end_of_agent=True)
                yield self._create_agent_state_event(ctx)
            context = Context(ctx)
            reply = await hooks.after_agent(self, context)
            if reply is not None or context.has_changes():
                yield _ending_event(ctx, reply, context)
        except Exception as error:
            ctx.scope.note_failure(error, self.name)
            await hooks.on_agent_error(self, Context(ctx), error)
            raise

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Yield the agent's events. Subclasses implement this method.

        Missing authors, invocation ids, branches and content roles of events are filled in.
        """
        raise NotImplementedError(
            f"Agent {self.name!r} ({type(self).__name__}) does not implement _run_async_impl."
        )
        yield  # makes this an async generator, as every implementation is

    def _load_agent_state(self, ctx: InvocationContext, state_type: type[AgentStateT]) -> AgentStateT | None:
        """Return the state recorded before the interruption; None if the agent starts again (contract R1)."""
        if not ctx.resuming or ctx.scope.agent_states.get(self.name) is None:
            return None
        return state_type.model_validate(ctx.scope.agent_states[self.name])

    def _create_agent_state_event(self, ctx: InvocationContext) -> Event:
        """Return an event to record the state set by `ctx.set_agent_state` (contract R1). Yield it immediately."""
        if self.name in ctx.scope.ended:
            return agent_event(ctx, actions=EventActions(end_of_agent=True))
        return agent_event(ctx, actions=EventActions(agent_state=ctx.scope.agent_states.get(self.name)))

    @property
    def root_agent(self) -> "BaseAgent":
        """The root of the tree."""
        agent: BaseAgent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    @property
    def offers_transfer(self) -> bool:
        """Return True if the models of sub-agents may transfer to this agent or to its other sub-agents."""
        return False

    @property
    def works_for_parent(self) -> bool:
        """Return True if the agent works for its parent's model, which calls it as a tool."""
        return False

    @property
    def records_progress(self) -> bool:
        """Return True if the agent records a state to resume from; otherwise its progress follows from its events."""
        return not self.offers_transfer

    @property
    def always_resumes(self) -> bool:
        """Return True if invocations with this agent resume also in an app without a resumability config."""
        return False

    def find_agent(self, name: str) -> "BaseAgent | None":
        """Return this agent or the descendant with this name, or None."""
        if self.name == name:
            return self
        return self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> "BaseAgent | None":
        """Return the descendant with this name, or None."""
        for child in self.sub_agents:
            found = child.find_agent(name)
            if found is not None:
                return found
        return None

    def descendants(self) -> "Iterator[BaseAgent]":
        """Yield all descendants, parents first."""
        for child in self.sub_agents:
            yield child
            yield from child.descendants()

    def get_agent(self, name: str) -> "BaseAgent":
        """Return this agent or the descendant with this name.

        Raises:
            ConfigurationError: no agent has this name.
        """
        agent = self.find_agent(name)
        if agent is None:
            raise ConfigurationError(f"There is no agent {name!r} in the tree of {self.name!r}.")
        return agent

    def clone(self, update: dict[str, Any] | None = None) -> "BaseAgent":
        """Return a copy without a parent; its sub-agents are copied deeply (contract Q16).

        Raises:
            ConfigurationError: `update` contains `parent_agent` or an unknown field.
        """
        update = dict(update or {})
        allowed = type(self).model_fields.keys() - {"parent_agent"}
        refused = sorted(update.keys() - allowed)
        if refused:
            raise ConfigurationError(
                f"clone() of agent {self.name!r} cannot set {', '.join(map(repr, refused))}."
            )
        fields: dict[str, Any] = {}
        # Not `model_copy`: the copy runs its validators and becomes the parent of the copied sub-agents.
        for name in self.model_fields_set - {"parent_agent"}:
            value = getattr(self, name)
            fields[name] = list(value) if isinstance(value, list) else value
        if "sub_agents" not in update:
            fields["sub_agents"] = [child.clone() for child in self.sub_agents]
        return type(self)(**{**fields, **update})


def _ending_event(ctx: InvocationContext, reply: types.Content | None, context: Context) -> Event:
    """Return the event of a callback, as the end of the agent call."""
    # Recorded as the end of the agent, so a resume skips it (contract R1).
    context.actions.end_of_agent = ctx.is_resumable or None
    return agent_event(ctx, reply, context.actions)

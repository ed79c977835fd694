"""BaseAgent: a named node of an agent tree that turns an invocation into events (spec A1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, TypeVar, final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from runtime import types
from runtime.agents.agent_state import BaseAgentState
from runtime.callbacks import Callback
from runtime.context import Context, InvocationContext
from runtime.engine import hooks
from runtime.engine.build_events import agent_event, complete
from runtime.engine.resume.agent_progress import has_begun
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

AgentCallback = Callback[types.Content]
AgentStateT = TypeVar("AgentStateT", bound=BaseAgentState)


class BaseAgent(BaseModel):
    """Subclasses implement `_run_async_impl`.

    Attributes:
        name: an identifier, unique in the tree; not `user`.
        description: what the agent is for; other agents' models read it to decide on a transfer.
        sub_agents: the children; each agent has one parent.
        parent_agent: set by the parent.
        before_agent_callback: one callable or a list; a content that it returns takes the agent's place.
        after_agent_callback: one callable or a list; a content that it returns is said after the agent.

    Raises:
        ConfigurationError: a bad name, or a sub-agent that has a parent already.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    description: str = ""
    parent_agent: BaseAgent | None = Field(default=None, init=False, repr=False, exclude=True)
    sub_agents: list[BaseAgent] = Field(default_factory=list)
    before_agent_callback: AgentCallback | list[AgentCallback] | None = None
    after_agent_callback: AgentCallback | list[AgentCallback] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name.isidentifier() or name == "user":
            raise ValueError(
                f"Agent name {name!r} is not allowed: use letters, digits and underscores, "
                "start with a letter, and leave 'user' to the person."
            )
        return name

    def model_post_init(self, context: Any, /) -> None:
        """Become the parent of the sub-agents: of all or, when one has a parent already, of none."""
        for index, child in enumerate(self.sub_agents):
            is_repeated = any(child is other for other in self.sub_agents[:index])
            parent = self if is_repeated else child.parent_agent
            if parent is not None:
                raise ConfigurationError(
                    f"Agent {child.name!r} has the parent {parent.name!r} already, so it cannot be a "
                    f"sub-agent of {self.name!r}, too. Use clone() for a second one."
                )
        for child in self.sub_agents:
            child.parent_agent = self

    @final
    async def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent: its before callback, its own work, its after callback (spec C2, C3)."""
        ctx = parent_context.for_agent(self)
        if ctx.has_ended(self):
            return
        if not (ctx.resuming and has_begun(ctx)):
            context = Context(ctx)
            reply = await hooks.before_agent(self, context)
            if reply is not None:
                yield _last_event(ctx, reply, context)
                return
            if context.has_changes():
                yield agent_event(ctx, None, context.actions)
        async with aclosing(self._run_async_impl(ctx)) as events:
            async for event in events:
                yield complete(ctx, event)
        if ctx.end_invocation or ctx.is_paused(self):
            return
        if ctx.is_resumable and self.sub_agents and not self.offers_transfer:
            ctx.set_agent_state(self.name, end_of_agent=True)
            yield self._create_agent_state_event(ctx)
        context = Context(ctx)
        reply = await hooks.after_agent(self, context)
        if reply is not None or context.has_changes():
            yield _last_event(ctx, reply, context)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """What the agent does; to be implemented by subclasses.

        Events need not name their invocation, their branch and the role of their content: these are filled in.
        """
        raise NotImplementedError(
            f"Agent {self.name!r} ({type(self).__name__}) does not implement _run_async_impl."
        )
        yield  # makes this an async generator, as every implementation is

    def _load_agent_state(self, ctx: InvocationContext, state_type: type[AgentStateT]) -> AgentStateT | None:
        """Where the agent was when its invocation was interrupted; None when it begins (spec R1)."""
        recorded = ctx.scope.agent_states.get(self.name) if ctx.resuming else None
        return state_type.model_validate(recorded) if recorded is not None else None

    def _create_agent_state_event(self, ctx: InvocationContext) -> Event:
        """An event that records what `ctx.set_agent_state` noted; yield it before going on (spec R1)."""
        if self.name in ctx.scope.ended:
            return agent_event(ctx, actions=EventActions(end_of_agent=True))
        return agent_event(ctx, actions=EventActions(agent_state=ctx.scope.agent_states.get(self.name)))

    @property
    def root_agent(self) -> BaseAgent:
        """The top of the tree."""
        agent: BaseAgent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    @property
    def offers_transfer(self) -> bool:
        """Whether the model of a sub-agent may transfer to this agent or across it."""
        return False

    def find_agent(self, name: str) -> BaseAgent | None:
        """This agent or one below it, by name."""
        return self if self.name == name else self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> BaseAgent | None:
        """An agent below this one, by name."""
        return next((found for child in self.sub_agents if (found := child.find_agent(name))), None)

    def descendants(self) -> Iterator[BaseAgent]:
        """All agents below this one."""
        for child in self.sub_agents:
            yield child
            yield from child.descendants()

    def get_agent(self, name: str) -> BaseAgent:
        """This agent or one below it.

        Raises:
            ConfigurationError: there is none of this name.
        """
        agent = self.find_agent(name)
        if agent is None:
            raise ConfigurationError(f"There is no agent {name!r} in the tree of {self.name!r}.")
        return agent

    def clone(self, update: dict[str, Any] | None = None) -> BaseAgent:
        """A copy without a parent, its sub-agents copied deeply (spec Q16).

        Raises:
            ConfigurationError: `update` names the parent or a field that there is not.
        """
        update = dict(update or {})
        unknown = sorted(set(update) - set(type(self).model_fields) | set(update) & {"parent_agent"})
        if unknown:
            raise ConfigurationError(
                f"clone() of agent {self.name!r} cannot set {', '.join(map(repr, unknown))}."
            )
        copies = {
            name: list(value) if isinstance(value := getattr(self, name), list) else value
            for name in self.model_fields_set - {"parent_agent"}
        }
        if "sub_agents" not in update:
            copies["sub_agents"] = [child.clone() for child in self.sub_agents]
        return type(self)(**{**copies, **update})


def _last_event(ctx: InvocationContext, reply: types.Content | None, context: Context) -> Event:
    """What a callback says in the agent's place or after it; nothing of the agent is to follow when resumed (R1)."""
    context.actions.end_of_agent = ctx.is_resumable or None
    return agent_event(ctx, reply, context.actions)

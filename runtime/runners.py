"""Runner: the event loop, and the only place that commits (spec L1-L9).

    user's message -> commit -> agent -> event -> commit -> yield -> the agent goes on -> event -> ...

Partial events take the short way: they are yielded, never committed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, contextmanager
from typing import Any

from runtime import types
from runtime._tasks import iterate_in_thread
from runtime._writing import SessionKey, is_writing, while_writing
from runtime.agents.base_agent import BaseAgent
from runtime.agents.routing import agent_that_answers, agent_that_resumes
from runtime.agents.toolsets import close_toolsets
from runtime.agents.tree import refuse_repeated_names
from runtime.apps.app import App
from runtime.apps.compaction import compact
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import BorrowedArtifactService
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService
from runtime.artifacts.input_blobs import save_input_blobs
from runtime.context import InvocationContext, InvocationScope, new_invocation_id, owner_of
from runtime.engine.build_events import agent_event, user_event
from runtime.engine.human_input.credentials import take_credentials
from runtime.engine.resume.agent_progress import latest_start, recorded_states
from runtime.engine.rewind import undo
from runtime.engine.stopping import Stoppable
from runtime.errors import (
    ConfigurationError,
    InvocationNotFoundError,
    NestedRunError,
    SessionNotFoundError,
)
from runtime.events.calls import find_call_event
from runtime.events.event import Event
from runtime.memory.base_memory_service import BaseMemoryService
from runtime.memory.in_memory_memory_service import InMemoryMemoryService
from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.plugin_manager import PluginManager
from runtime.run_config import RunConfig
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig
from runtime.sessions.in_memory_session_service import InMemorySessionService
from runtime.sessions.session import Session

logger = logging.getLogger(__name__)


class Runner:
    """Runs an app's agents for a session.

    Give it an `app`, or an `app_name` and an `agent`.

    Args:
        compacts: whether `run_async` sums up what is due after its last event (spec R4); without it, `compact_async`
            is called by whoever runs the Runner.

    Raises:
        ConfigurationError: neither is given, or both; two plugins, or two agents of the tree, have one name.
    """

    def __init__(
        self,
        *,
        session_service: BaseSessionService,
        app: App | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        plugins: Iterable[BasePlugin] | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        compacts: bool = True,
    ) -> None:
        if app is None:
            if agent is None or app_name is None:
                raise ConfigurationError("A Runner needs an app, or an app_name and an agent.")
            app = App.model_construct(name=app_name, root_agent=agent, plugins=list(plugins or ()))
        elif agent is not None or plugins:
            raise ConfigurationError(
                "Give the Runner an app or an agent with plugins, not both: an app has its own."
            )
        refuse_repeated_names(app.root_agent)
        self.app = app
        self.app_name = app_name or app.name
        self.agent = app.root_agent
        self.session_service = session_service
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.plugin_manager = PluginManager(app.plugins)
        self._compacts = compacts and app.events_compaction_config is not None
        self._running: set[Stoppable] = set()
        self._caller: InvocationScope | None = None

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | None = None,
        invocation_id: str | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation: commit the message, run the agent, commit and yield its events.

        Args:
            new_message: what the person says, or function responses for long-running calls.
            invocation_id: of an interrupted invocation, which is continued from its events (spec R1); else the id
                to use for the new one. An answer that continues an invocation (T5) needs none.
            state_delta: state changes that come with the message, or with the continuation.

        Raises:
            SessionNotFoundError: there is no such session.
            NestedRunError: it is called by code of an invocation of the same session.
            InvocationNotFoundError: there is nothing to continue and no message.
            InvalidAnswerError: the message answers a question of the framework in a way that cannot be read.
        """
        run = Stoppable(invocation_id)
        with self._cancellable(run):
            async with AsyncExitStack() as writing:
                session = await run.unless_stopped(self._begin_writing(writing, user_id, session_id))
                if session is None or run.is_stopped:
                    return
                invocation_id = self._invocation_to_continue(session, new_message) or invocation_id
                ctx = self._context(session, invocation_id or new_invocation_id(), run_config or RunConfig())
                run.invocation_id = ctx.invocation_id
                if new_message is not None:
                    new_message, ctx.scope.credentials = take_credentials(new_message, session.events)
                if session.may_contain_invocation(ctx.invocation_id) and ctx.events():
                    self._prepare_resume(ctx, new_message)
                elif new_message is None:
                    raise _nothing_to_run(session, invocation_id)
                else:
                    ctx.scope.begins_at = len(session.events)
                stream = while_writing(
                    self._key(user_id, session_id), self._run(ctx, new_message, state_delta)
                )
                async with aclosing(run.events(stream)) as events:
                    async for event in events:
                        yield event
                for event in run.closing_events(ctx) if run.is_stopped else ():
                    await self._commit(ctx, event)
                    yield event
        if self._compacts:
            await self._compact_after(ctx)

    def cancel(self, invocation_id: str) -> bool:
        """Stop an invocation that this Runner runs (spec R2); False when it runs none of this id.

        Its `run_async` ends at the next await of agent, model or tool, after the events that record the stop: the
        text that had come, marked `interrupted`, and answers for the calls left open. One that still waits for its
        session ends without a trace.
        """
        runs = [run for run in self._running if run.invocation_id == invocation_id]
        for run in runs:
            run.stop()
        return bool(runs)

    def run(self, **kwargs: Any) -> Generator[Event, None, None]:
        """As `run_async`, for code without an event loop: it runs in a thread of its own (spec L6).

        Closing the generator stops the agent (spec L7).
        """
        return iterate_in_thread(self.run_async(**kwargs), "adk-runner")

    async def rewind_async(self, *, user_id: str, session_id: str, rewind_before_invocation_id: str) -> Event:
        """Undo an invocation and all that came after it, by one event that is returned (spec R3).

        The log keeps everything; agents no longer see what was rewound. Not while an invocation runs in the session.

        Raises:
            SessionNotFoundError: there is no such session.
            InvocationNotFoundError: there is no such invocation, or it was rewound already.
        """
        async with self._one_writer(user_id, session_id):
            session = await self._load(user_id, session_id)
            actions = await undo(
                session, self.session_service, self.artifact_service, rewind_before_invocation_id
            )
            event = Event(author="user", invocation_id=new_invocation_id(), actions=actions)
            return await self.session_service.append_event(session, event)

    async def compact_async(
        self, *, user_id: str, session_id: str, invocation_id: str | None = None
    ) -> Event | None:
        """Sum up what is due (spec R4); returns the summary's event. Safe to repeat: nothing is summed up twice.

        Args:
            invocation_id: the latest invocation that is known to be over; without it, the newest is left alone.

        Raises:
            SessionNotFoundError: there is no such session.
            ModelError: the model could not sum up.
        """
        # Not as the one writer: an answer does not wait for a summary, which holds whatever is written meanwhile.
        session = await self._load(user_id, session_id, GetSessionConfig(without_superseded=True))
        return await compact(self.app, self.session_service, session, invocation_id)

    async def close(self) -> None:
        """Close the toolsets of the agents, then the plugins, all of them also when one fails.

        Raises:
            ToolsetError: names the toolsets that failed.
            PluginError: names the plugins that failed.
        """
        try:
            await close_toolsets(self.agent)
        finally:
            await self.plugin_manager.close()

    async def _run(
        self, ctx: InvocationContext, message: types.Content | None, state_delta: dict[str, Any] | None
    ) -> AsyncGenerator[Event, None]:
        """The loop of one invocation."""
        ask = self.plugin_manager.ask
        if message is not None:
            replaced = await ask("on_user_message_callback", invocation_context=ctx, user_message=message)
            message = replaced or message
        if message is not None or state_delta:
            event = await self._user_event(ctx, message, state_delta)
            ctx.user_content = ctx.user_content or event.content
            await self._commit(ctx, event)
        async with aclosing(self._agent_events(ctx)) as events:
            async for event in events:
                if not event.partial:
                    await self._commit(ctx, event)
                yield await ask("on_event_callback", invocation_context=ctx, event=event) or event
        await ask("after_run_callback", invocation_context=ctx)

    async def _compact_after(self, ctx: InvocationContext) -> None:
        """The answer is given by now: what goes wrong here does not take it back, and is tried again next time."""
        try:
            await compact(self.app, self.session_service, ctx.session, ctx.invocation_id)
        except Exception:
            logger.exception("Session %s was not compacted after %s", ctx.session.id, ctx.invocation_id)

    async def _user_event(
        self, ctx: InvocationContext, message: types.Content | None, state_delta: dict[str, Any] | None
    ) -> Event:
        """What the person said; files become artifacts where the run's settings ask for it (spec L10)."""
        if message is None or not ctx.run_config.save_input_blobs_as_artifacts:
            return user_event(ctx, message, state_delta)
        saved = await save_input_blobs(
            self.artifact_service, owner_of(ctx.session), message, ctx.invocation_id
        )
        event = user_event(ctx, saved.content, state_delta)
        event.actions.artifact_delta = saved.artifact_delta
        return event

    async def _agent_events(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """What the chosen agent says, or a plugin in its place (spec C4)."""
        if ctx.resuming:
            began = agent_that_answers(self.agent, ctx.session.events[: ctx.scope.begins_at + 1])
            ctx.agent = agent_that_resumes(self.agent, began, ctx.events())
        else:
            ctx.agent = agent_that_answers(self.agent, ctx.session.events)
        reply = await self.plugin_manager.ask("before_run_callback", invocation_context=ctx)
        if reply is not None:
            yield agent_event(ctx, reply)
            return
        async with aclosing(ctx.agent.run_async(ctx)) as events:
            async for event in events:
                yield event

    def _invocation_to_continue(self, session: Session, message: types.Content | None) -> str | None:
        """In a resumable app an answer to a long-running call continues the call's invocation (spec R1, T5)."""
        if not self._is_resumable or message is None:
            return None
        for part in message.parts or []:
            call_id = part.function_response.id if part.function_response else None
            call_event = find_call_event(session.events, call_id) if call_id else None
            if call_event is not None:
                return call_event.invocation_id
        return None

    def _prepare_resume(self, ctx: InvocationContext, message: types.Content | None) -> None:
        """Go on where the invocation's events end; or begin anew, with an answer that nobody waits for any more."""
        events = ctx.events()
        ctx.user_content = next((event.content for event in events if event.author == "user"), None)
        start = latest_start([*events, user_event(ctx, message)] if message else events)
        first = events[start] if start < len(events) else None
        ctx.scope.begins_at = next(
            (index for index, event in enumerate(ctx.session.events) if event is first),
            len(ctx.session.events),
        )
        events = ctx.events()
        ctx.resuming = any(event.author != "user" for event in events)
        ctx.scope.agent_states, ctx.scope.ended = recorded_states(self.agent, events)

    @property
    def _is_resumable(self) -> bool:
        config = self.app.resumability_config
        return config is not None and config.is_resumable

    async def _commit(self, ctx: InvocationContext, event: Event) -> None:
        """Store the event and its actions. The agent that yielded it stands still meanwhile (spec L3).

        What was changed in place stays the object that it is: a parallel agent may have it at hand, and what that one
        changes is a change of the state, too (S6).
        """
        delta, state = event.actions.state_delta, ctx.session.state
        at_hand = ctx.scope.changed_in_place(delta)
        await self.session_service.append_event(ctx.session, event)
        state.update(at_hand)
        ctx.scope.own_state.update({key: state[key] for key in delta if key in state})

    @contextmanager
    def _cancellable(self, run: Stoppable) -> Generator[None, None, None]:
        """While the run is one that `cancel` finds."""
        self._running.add(run)
        try:
            yield
        finally:
            self._running.discard(run)

    async def _begin_writing(self, writing: AsyncExitStack, user_id: str, session_id: str) -> Session:
        """The session, once nobody else writes to it; until the stack is closed nobody else does."""
        await writing.enter_async_context(self._one_writer(user_id, session_id))
        return await self._load(user_id, session_id, GetSessionConfig(without_superseded=True))

    def _one_writer(self, user_id: str, session_id: str) -> AbstractAsyncContextManager[None]:
        """What keeps two invocations of one session from interleaving their events."""
        if is_writing(self._key(user_id, session_id)):
            raise NestedRunError(
                f"This code is part of an invocation of session {session_id!r}, so it cannot wait for another one "
                "there. Use another session, as AgentTool does, or run it when this invocation has ended."
            )
        return self.session_service.exclusive_writer(
            app_name=self.app_name, user_id=user_id, session_id=session_id
        )

    def _key(self, user_id: str, session_id: str) -> SessionKey:
        return (self.session_service, self.app_name, user_id, session_id)

    async def _load(self, user_id: str, session_id: str, config: GetSessionConfig | None = None) -> Session:
        session = await self.session_service.get_session(
            app_name=self.app_name, user_id=user_id, session_id=session_id, config=config
        )
        if session is None:
            raise SessionNotFoundError(
                f"App {self.app_name!r} has no session {session_id!r} of user {user_id!r}. "
                "Create it with the session service's create_session first."
            )
        return session

    def _context(self, session: Session, invocation_id: str, run_config: RunConfig) -> InvocationContext:
        return InvocationContext(
            invocation_id=invocation_id,
            agent=self.agent,
            session=session,
            session_service=self.session_service,
            artifact_service=self.artifact_service,
            memory_service=self.memory_service,
            plugin_manager=self.plugin_manager,
            run_config=run_config,
            scope=InvocationScope(
                caller=self._caller,
                is_resumable=self._is_resumable,
                llm_calls=run_config.llm_calls_before,
                own_state=dict(session.state),
            ),
            run_child=self._run_child,
            context_cache_config=self.app.context_cache_config,
        )

    async def _run_child(
        self, ctx: InvocationContext, agent: BaseAgent, message: types.Content, state: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Run an agent as a tool, in a session of its own (spec T6). Its model calls count with the caller's (L10)."""
        session = ctx.session
        artifacts = ctx.artifact_service and BorrowedArtifactService(ctx.artifact_service, owner_of(session))
        runner = Runner(
            app_name=self.app_name,
            agent=agent,
            plugins=self.plugin_manager.plugins,
            session_service=InMemorySessionService(),
            artifact_service=artifacts,
            memory_service=ctx.memory_service,
        )
        runner._caller = ctx.scope
        child = await runner.session_service.create_session(
            app_name=self.app_name, user_id=session.user_id, state=state
        )
        run = runner.run_async(
            user_id=child.user_id,
            session_id=child.id,
            new_message=message,
            run_config=RunConfig(max_llm_calls=ctx.run_config.max_llm_calls),
        )
        async with aclosing(run) as events:
            async for event in events:
                yield event


class InMemoryRunner(Runner):
    """A Runner with services that keep everything in this process's memory (spec L9)."""

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        app_name: str | None = None,
        app: App | None = None,
        plugins: Iterable[BasePlugin] | None = None,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or (app.name if app else "InMemoryRunner"),
            agent=agent,
            plugins=plugins,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )


def _nothing_to_run(session: Session, invocation_id: str | None) -> InvocationNotFoundError:
    if invocation_id is None:
        return InvocationNotFoundError(
            "run_async needs a new_message, or the invocation_id of one to continue."
        )
    return InvocationNotFoundError(f"Session {session.id!r} has no invocation {invocation_id!r} to continue.")

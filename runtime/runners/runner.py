"""Runner: the event loop, and the only code that commits events (contract L1-L9).

    user message -> commit -> agent -> event -> commit -> yield -> the agent continues -> event -> ...

Agents are generators: an agent stands still at its `yield` until its event is committed, so its next lines can read the
committed state. Partial events are yielded and never committed.

An invocation is the only writer of its session, from loading the session to its last commit. Every generator is closed
by `aclosing`: Python closes an abandoned async generator only when it is garbage collected, and its tools would run on
until then.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager
from functools import partial
from typing import Any, Self

from runtime import types
from runtime._pydantic_models import construct
from runtime._tasks import iterate_in_thread
from runtime._write_scope import WritingTo
from runtime.agents.base_agent import BaseAgent
from runtime.agents.routing import route_message, route_resume, scope_of_message
from runtime.agents.tree import check_names, close_toolsets
from runtime.apps.app import App
from runtime.apps.compaction import compact
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import BorrowedArtifactService
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.credential_service.base_credential_service import BaseCredentialService
from runtime.context import AgentProtocol, Context, InvocationContext, new_invocation_id, session_args
from runtime.engine.build_events import agent_event, failure_event, replaced_by, valid_content
from runtime.engine.cancellation import CancellableRun
from runtime.engine.human_input.credentials import extract_credentials
from runtime.engine.human_input.inputs import check_inputs
from runtime.engine.output import save_files
from runtime.engine.rewind import rewind, undo_rewind
from runtime.engine.start import (
    answers_missing_call,
    check_message,
    find_answered_invocation,
    nothing_to_run_error,
    prepare_resume,
    user_message_event,
)
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.rewound import drop_rewound
from runtime.invocation_scope import Failure, InvocationScope
from runtime.memory.base_memory_service import BaseMemoryService
from runtime.memory.in_memory_memory_service import InMemoryMemoryService
from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.plugin_manager import PluginManager
from runtime.run_config import RunConfig
from runtime.runners.debug_run import run_texts
from runtime.runners.session_access import SessionAccess
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.in_memory_session_service import InMemorySessionService
from runtime.sessions.session import Session

logger = logging.getLogger(__name__)


class Runner:
    """Runs an app's agents in sessions.

    Args:
        app: app to run; give either `app`, or `agent` with `app_name`.
        auto_create_session: True to create a missing session with its first message.
        compacts: True to compact the session after each invocation (contract R4); otherwise call `compact_async`.

    Raises:
        ConfigurationError: neither or both of `app` and `agent` are given, two plugins share a name, or two agents of
            a resumable app share a name.
    """

    def __init__(  # noqa: PLR0913  # the parameters of google-adk
        self,
        *,
        session_service: BaseSessionService,
        app: App | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        plugins: Iterable[BasePlugin] | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: BaseMemoryService | None = None,
        credential_service: BaseCredentialService | None = None,
        auto_create_session: bool = False,
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
        self.app = app
        # Once: the app asks all of its agents.
        self._is_resumable = app.is_resumable
        check_names(app.root_agent, is_resumable=self._is_resumable)
        self.app_name = app_name or app.name
        self.agent = app.root_agent
        self.session_service = session_service
        self.artifact_service = artifact_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.plugin_manager = PluginManager(app.plugins)
        self._compacts = compacts and app.events_compaction_config is not None
        self.auto_create_session = auto_create_session
        self._active_runs: set[CancellableRun] = set()
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
        credentials: Mapping[str, AuthCredential] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation: commit the message, run the agent, commit and yield its events.

        Args:
            new_message: user message, or function responses to long-running calls.
            invocation_id: id of an interrupted invocation to resume (contract R1), or the id of a new invocation.
                Function responses that continue an invocation need no id (contract T5).
            state_delta: state changes to commit with the message or the resume.
            credentials: credentials by credential key, if the caller took them out of the message (contract T8).

        Raises:
            SessionNotFoundError: the session does not exist.
            NestedRunError: the caller is code of an invocation of the same session.
            InvocationNotFoundError: there is neither a message nor an invocation to resume.
            InvalidMessageError: the message is not a content, or answers a call that is missing in the session.
            InvalidAnswerError: an answer to a request of the framework cannot be read, or does not fit its schema.
        """
        run = CancellableRun(invocation_id)
        with self._register_run(run):
            async with AsyncExitStack() as stack:
                session = await run.await_unless_cancelled(
                    self._begin_writing(stack, user_id, session_id, new_message, invocation_id)
                )
                # Cancelled while it waited for the session or loaded it: nothing was committed.
                if session is None or run.is_cancelled:
                    return
                config = run_config or construct(RunConfig)
                ctx, message = self._open_invocation(session, invocation_id, new_message, config)
                run.invocation_id = ctx.invocation_id
                ctx.scope.credentials.update(credentials or {})
                stream = self._run_invocation(ctx, message, state_delta)
                # Entered only while the stream runs: a generator's context variables leak into its consumer.
                writing = WritingTo(self._sessions.key(user_id, session_id))
                async with aclosing(run.events(stream, writing)) as events:
                    async for event in events:
                        yield event
                # Still the only writer here: no other invocation may see calls without responses.
                if run.is_cancelled:
                    # A database may have committed an event although its commit was cancelled: `session` lacks it.
                    stored = await self._sessions.load(user_id, session_id, without_superseded=True)
                    for event in run.closing_events(ctx, stored.events):
                        await self._commit(ctx, event)
                        yield event
        # After the session is free: the model call for a summary may take long.
        if self._compacts:
            await self._try_compact(ctx)

    def cancel(self, invocation_id: str) -> bool:
        """Cancel an invocation of this Runner (contract R2). Return False if no invocation with this id runs here.

        Agent, model and tools are cancelled at their current await. `run_async` then yields the events that record
        the cancellation (partial text marked `interrupted`, error responses to open calls) and ends. An invocation
        that still waits for its session ends without events.
        """
        runs = [run for run in self._active_runs if run.invocation_id == invocation_id]
        for run in runs:
            run.cancel()
        return bool(runs)

    def run(self, **kwargs: Any) -> Generator[Event, None, None]:
        """Run `run_async` for synchronous code, on an event loop in a new thread (contract L6).

        Closing the generator stops the agent (contract L7).
        """
        return iterate_in_thread(self.run_async(**kwargs), "adk-runner")

    async def run_debug(
        self,
        user_messages: str | list[str],
        *,
        user_id: str = "debug_user_id",
        session_id: str = "debug_session_id",
        run_config: RunConfig | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> list[Event]:
        """Run an invocation for each text; print and return the events. Create a missing session.

        Args:
            quiet: True to print nothing.
            verbose: True to print function calls, responses, code and files, too.
        """
        await self._sessions.load(user_id, session_id, creates_missing=True)
        run = partial(self.run_async, user_id=user_id, session_id=session_id, run_config=run_config)
        return await run_texts(run, user_messages, quiet=quiet, verbose=verbose)

    async def rewind_async(self, *, user_id: str, session_id: str, rewind_before_invocation_id: str) -> Event:
        """Rewind an invocation and all later invocations; return the rewind event (contract R3).

        The session keeps all events, but agents no longer see the rewound events. Wait until no invocation runs in the
        session.

        Raises:
            SessionNotFoundError: the session does not exist.
            InvocationNotFoundError: the invocation does not exist, or it was rewound already.
        """
        make_event = partial(rewind, invocation_id=rewind_before_invocation_id)
        return await self._append_rewind(user_id, session_id, make_event)

    async def undo_rewind_async(self, *, user_id: str, session_id: str, rewind_event_id: str) -> Event:
        """Undo a rewind by a second rewind event, and return it. Raise the errors of `rewind_async`."""
        return await self._append_rewind(user_id, session_id, partial(undo_rewind, rewind_id=rewind_event_id))

    async def compact_async(
        self, *, user_id: str, session_id: str, invocation_id: str | None = None
    ) -> Event | None:
        """Commit a summary of the events that are due, and return its event; None if none are (contract R4).

        Safe to repeat.

        Args:
            invocation_id: latest invocation known to have ended; without an id, the newest invocation is left out.

        Raises:
            SessionNotFoundError: the session does not exist.
            ModelError: the model call failed.
        """
        # Without becoming the session's writer: a summary stays valid while an invocation adds events.
        session = await self._sessions.load(user_id, session_id, without_superseded=True)
        return await compact(self.app, self.session_service, session, invocation_id)

    async def close(self) -> None:
        """Close the toolsets of the agents, then the plugins. Close all of them, even if some fail.

        Raises:
            ToolsetError: toolsets failed; the message names them.
            PluginError: plugins failed; the message names them.
        """
        try:
            await close_toolsets(self.agent)
        finally:
            await self.plugin_manager.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _append_rewind(
        self, user_id: str, session_id: str, make_event: Callable[..., Awaitable[Event]]
    ) -> Event:
        async with self._sessions.one_writer(user_id, session_id):
            # All events: a rewind may reach back before the latest summary.
            session = await self._sessions.load(user_id, session_id)
            event = await make_event(session, self.session_service, self.artifact_service)
            return await self.session_service.append_event(session, event)

    @property
    def _sessions(self) -> SessionAccess:
        # Made for each use, because `session_service` may be replaced.
        return SessionAccess(self.session_service, self.app_name)

    def _open_invocation(
        self,
        session: Session,
        invocation_id: str | None,
        message: types.Content | None,
        run_config: RunConfig,
    ) -> tuple[InvocationContext, types.Content | None]:
        """Return the context of a new or resumed invocation, and the message without credentials."""
        check_message(message, session.events)
        if self._is_resumable and message is not None:
            # The answered invocation wins over the id for a new one: an answer continues its invocation.
            invocation_id = find_answered_invocation(session.events, message) or invocation_id
        ctx = self._create_context(session, invocation_id or new_invocation_id(), run_config)
        if message is not None:
            check_inputs(message, session.events)
            message, ctx.scope.credentials = extract_credentials(message, session.events)
        # `may_contain_invocation` spares a search through all events for an id that was made for this run.
        if invocation_id and session.may_contain_invocation(invocation_id) and ctx.events():
            prepare_resume(ctx, self.agent, message)
        elif message is None:
            raise nothing_to_run_error(session, invocation_id)
        else:
            ctx.scope.begins_at = len(session.events)
        return ctx, message

    async def _run_invocation(
        self, ctx: InvocationContext, message: types.Content | None, state_delta: dict[str, Any] | None
    ) -> AsyncGenerator[Event, None]:
        """Commit the message, run the agent, commit its events."""
        ask = self.plugin_manager.ask
        try:
            if message is not None:
                replaced = await ask("on_user_message_callback", invocation_context=ctx, user_message=message)
                message = replaced or message
            if message is not None or state_delta:
                event = await user_message_event(ctx, message, state_delta)
                event.isolation_scope = scope_of_message(self.agent, ctx.session.events, event.content)
                # A resumed invocation keeps the message that began it.
                ctx.user_content = ctx.user_content or event.content
                await self._commit(ctx, event)
            async with aclosing(agent_events(self.agent, ctx, self.plugin_manager)) as events:
                async for event in events:
                    replacement = await ask("on_event_callback", invocation_context=ctx, event=event)
                    if replacement is not None:
                        # Before the commit, so the stored event, the yielded event and the model's contents agree.
                        event = replaced_by(event, replacement)
                    if not event.partial:
                        await save_files(ctx, event)
                        await self._commit(ctx, event)
                    yield event
            await ask("after_run_callback", invocation_context=ctx)
        except Exception as error:
            await self.plugin_manager.tell("on_run_error_callback", invocation_context=ctx, error=error)
            raise

    async def _try_compact(self, ctx: InvocationContext) -> None:
        """Compact the session; log a failure."""
        # The invocation is complete, and the next invocation tries again.
        try:
            await compact(self.app, self.session_service, ctx.session, ctx.invocation_id)
        except Exception:
            logger.exception("Session %s was not compacted after %s", ctx.session.id, ctx.invocation_id)

    async def _commit(self, ctx: InvocationContext, event: Event) -> None:
        """Store the event and its actions (contract L3)."""
        # Here, because plugins and agents make events, too.
        event.content = valid_content(event.content)
        # A value that was changed in place must stay the same object in the state: a parallel agent may hold a
        # reference to the value, and its changes are state changes, too (contract S6).
        delta = event.actions.state_delta
        state = ctx.session.state
        changed_in_place = ctx.scope.changed_in_place(delta)
        await self.session_service.append_event(ctx.session, event)
        state.update(changed_in_place)
        ctx.scope.own_state.update({key: state[key] for key in delta if key in state})

    @contextmanager
    def _register_run(self, run: CancellableRun) -> Generator[None, None, None]:
        self._active_runs.add(run)
        try:
            yield
        finally:
            self._active_runs.discard(run)

    async def _begin_writing(
        self,
        stack: AsyncExitStack,
        user_id: str,
        session_id: str,
        message: types.Content | None,
        invocation_id: str | None,
    ) -> Session:
        """Load the session as its only writer, until the stack is closed."""
        await stack.enter_async_context(self._sessions.one_writer(user_id, session_id))
        session = await self._sessions.load(
            user_id, session_id, without_superseded=True, creates_missing=self.auto_create_session
        )
        if answers_missing_call(session, message, invocation_id):
            # A late answer: a summary may have replaced the call.
            session = await self._sessions.load(user_id, session_id)
            session.events = drop_rewound(session.events)
        return session

    def _create_context(
        self, session: Session, invocation_id: str, run_config: RunConfig
    ) -> InvocationContext:
        return InvocationContext(
            invocation_id=invocation_id,
            agent=self.agent,
            session=session,
            session_service=self.session_service,
            artifact_service=self.artifact_service,
            memory_service=self.memory_service,
            credential_service=self.credential_service,
            plugin_manager=self.plugin_manager,
            run_config=run_config,
            scope=InvocationScope(
                caller=self._caller,
                is_resumable=self._is_resumable,
                llm_calls=run_config.llm_calls_before,
                own_state=dict(session.state),
            ),
            run_agent_as_tool=self._run_agent_as_tool,
            context_cache_config=self.app.context_cache_config,
        )

    async def _run_agent_as_tool(
        self,
        context: Context,
        agent: AgentProtocol,
        message: types.Content,
        state: dict[str, Any],
        include_plugins: bool,
    ) -> AsyncGenerator[Event, None]:
        """Run an agent as a tool, in a new in-memory session (contract T6)."""
        if not isinstance(agent, BaseAgent):
            raise ConfigurationError(f"Agent {agent.name!r} is not a BaseAgent, so it cannot run as a tool.")
        ctx = context.invocation
        session = ctx.session
        # The child's artifacts are stored in the caller's session (contract T6).
        artifacts = ctx.artifact_service and BorrowedArtifactService(
            ctx.artifact_service, session_args(session)
        )
        runner = Runner(
            app_name=self.app_name,
            agent=agent,
            plugins=self.plugin_manager.plugins if include_plugins else [],
            session_service=InMemorySessionService(),
            artifact_service=artifacts,
            memory_service=ctx.memory_service,
            credential_service=ctx.credential_service,
        )
        # The limit of model calls holds for the invocation with all its child runs.
        runner._caller = ctx.scope
        child = await runner.session_service.create_session(
            app_name=self.app_name, user_id=session.user_id, state=state
        )
        run = runner.run_async(
            user_id=child.user_id,
            session_id=child.id,
            new_message=message,
            run_config=ctx.run_config.for_child(context.function_call_id),
        )
        async with aclosing(run) as events:
            async for event in events:
                yield event


async def agent_events(
    root: BaseAgent, ctx: InvocationContext, plugins: PluginManager
) -> AsyncGenerator[Event, None]:
    """Yield the events of the routed agent, or the reply of a plugin that answers instead.

    On an exception, yield an error event, unless the run config leaves failures to the caller, and re-raise.
    """
    try:
        if ctx.resuming:
            # Route again as at the time of the message: later events would lead to another agent.
            began = route_message(root, ctx.session.events[: ctx.scope.begins_at + 1])
            ctx.agent = route_resume(root, began, ctx.events())
        else:
            ctx.agent = route_message(root, ctx.session.events)
        reply = await plugins.ask("before_run_callback", invocation_context=ctx)
        if reply is not None:
            yield agent_event(ctx, reply)
            return
        async with aclosing(ctx.agent.run_async(ctx)) as events:
            async for event in events:
                yield event
    except Exception as error:
        failure = ctx.scope.failure_with(error) or Failure(error, ctx.agent.name)
        if ctx.run_config.on_failure is None:
            yield failure_event(ctx, failure)
        else:
            ctx.run_config.on_failure(failure.agent_name, failure.node_path, error)
        raise


class InMemoryRunner(Runner):
    """Runner with services that keep all data in this process's memory (contract L9)."""

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

"""WorkflowEngine: runs the nodes that the plan names, and records each end in one event (contract W2).

    plan -> node runs -> its events are committed -> its output, route and state in one last event -> plan

A run whose code has ended without this last event waits for an answer: a question of it, or below it, is open. A run
without either begins again after a crash, so its effects happen at least once, and its output exactly once.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from runtime import _platform, types
from runtime._tasks import TaskPool, exceptions_only
from runtime.context import InvocationContext, NodeCall
from runtime.engine.build_events import agent_event, node_end_event
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions, merge_actions
from runtime.events.invocation_log import RunRecord
from runtime.events.node_info import NodeInfo, child_path
from runtime.events.request_input import RequestInput
from runtime.workflow.build import NodeBuilder
from runtime.workflow.errors import NodeDataError, NodeTimeoutError, NodeWaitsError, SeveralOutputsError
from runtime.workflow.node_context import UNLIMITED, NodeContext, Slots
from runtime.workflow.node_data import check_state, stored_route
from runtime.workflow.plan import NodeRun, Plan

logger = logging.getLogger(__name__)
RunNode = Callable[[NodeRun, Slots], Coroutine[Any, Any, RunRecord]]
"""Function of the engine that runs a node to its end, or to its question, and returns its record."""


class WorkflowEngine:
    """Runs one workflow within an invocation.

    Args:
        ctx: context of the workflow's call.
        state_schema: model of the state's keys that nodes may write; None: any.
        max_concurrency: most nodes of the graph at once; None: no limit.
    """

    def __init__(
        self,
        ctx: InvocationContext,
        plan: Plan,
        state_schema: type[BaseModel] | None,
        max_concurrency: int | None,
    ) -> None:
        self._ctx = ctx
        self._state_schema = state_schema
        self._plan = plan
        self._node_with_output = ""
        self._pool = TaskPool[Event]()
        self._slots: Slots = UNLIMITED
        if max_concurrency and max_concurrency > 0:
            self._slots = asyncio.Semaphore(max_concurrency)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events of the nodes, until none can run."""
        self._start_next()
        async with aclosing(self._pool.items()) as events:
            async for event in events:
                yield event
                # The event is committed now.
                if event.node_info and event.node_info.has_ended:
                    self._start_next()

    def _start_next(self) -> None:
        for run in self._plan.next_runs(self._ctx.updated_log()):
            self._pool.start(f"Node {run.node.name!r}", partial(self.run, run, self._slots))

    async def run(self, run: NodeRun, slots: Slots) -> RunRecord:
        """Run a node until it has ended or waits for an answer; return its record.

        Args:
            slots: limit of the nodes at once. A node that waits for its next attempt leaves its slot to others.

        Raises:
            Exception: the exception of the node, if it is not tried again.
        """
        if not run.node.needs_slot:
            slots = UNLIMITED
        record = self._ctx.updated_log().run(run.path)
        while not record.has_ended:
            if record.failed_attempts:
                # After a restart, the rest of the delay.
                await asyncio.sleep(max(0.0, record.retry_at - _platform.now()))
            try:
                async with slots:
                    await self._run_attempt(run, record)
                break
            except Exception as error:
                failed_attempts = record.failed_attempts + 1
                delay: float | None = None
                if run.node.retry_config:
                    delay = run.node.retry_config.delay_after(failed_attempts, error)
                # Another attempt would give a second output again.
                if delay is None or isinstance(error, SeveralOutputsError):
                    self._ctx.scope.note_failure(error, self._ctx.agent.name, run.path)
                    raise
                await self._emit_failure(run, failed_attempts, delay, error)
                record = self._ctx.updated_log().run(run.path)
        return record

    async def _run_attempt(self, run: NodeRun, record: RunRecord) -> None:
        """Run the node's code, and commit its end if it does not wait."""
        invocation = self._ctx_of(run)
        if record.questions and not run.node.rerun_on_resume:
            if all(not made.waits for made in record.questions):
                answer = list(record.answers.values())[-1]
                await self._emit_end(run, invocation, _NodeEnd(run.node.name, output=answer))
            return
        if record.questions and not record.answers:
            return
        children = ChildRuns(run, self.run)
        ctx = NodeContext(invocation, run.path, record, children.run)
        attempt = _Attempt(run, ctx, record, children)
        try:
            limit: AbstractAsyncContextManager[None] = nullcontext()
            if run.node.timeout is not None:
                limit = _limit_time(run.node.name, run.node.timeout)
            async with limit:
                with exceptions_only(f"Node {run.node.name!r}"):
                    await self._execute(attempt)
        except Exception:
            ctx.discard_changes()
            raise
        finally:
            await children.cancel()
        if not (attempt.waits or self._ctx.updated_log().pending_calls(run.path)):
            await self._emit_end(run, invocation, attempt.end)

    async def _execute(self, attempt: "_Attempt") -> None:
        """Commit the events of the node's code, and keep its output."""
        run = attempt.run
        ctx = attempt.ctx
        try:
            async with aclosing(run.node.run(ctx=ctx, node_input=run.input)) as items:
                async for item in items:
                    if isinstance(item, RequestInput):
                        await self._ask(attempt, item)
                    elif _is_for_end(item, run.path):
                        attempt.end.add(item)
                    else:
                        await self._emit(run, item, ctx)
            attempt.end.take_actions(ctx)
            if attempt.end.actions:
                self._check_state(run, attempt.end.actions)
        except NodeWaitsError:
            attempt.waits = True
            await attempt.children.settle()

    async def _ask(self, attempt: "_Attempt", request: RequestInput) -> None:
        """Commit a question, unless it is open already: the node may run again because of another answer."""
        for question in attempt.open_questions:
            if request.is_asked_by(question):
                attempt.open_questions.remove(question)
                return
        question_id = request.interrupt_id
        if not question_id:
            number = len(self._ctx.updated_log().run(attempt.run.path).questions) + 1
            # Another process that repeats an interrupted run makes the same id.
            name = f"{self._ctx.invocation_id} {attempt.run.path}#{number}"
            question_id = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        content = types.Content(role="model", parts=[types.Part(function_call=request.as_call(question_id))])
        event = agent_event(attempt.ctx.invocation, content, attempt.ctx.take_actions())
        event.actions.route = None
        event.long_running_tool_ids = {question_id}
        await self._emit(attempt.run, event, attempt.ctx)

    async def _emit(self, run: NodeRun, event: Event, ctx: NodeContext) -> None:
        """Commit an event of the node, with the state that it has changed so far."""
        if event.node_info is None:
            event.node_info = NodeInfo(path=run.path)
            event.author = event.author or self._ctx.agent.name
            event.branch = event.branch or run.branch
            event.invocation_id = event.invocation_id or self._ctx.invocation_id
            if not event.partial and ctx.has_changes():
                taken = ctx.take_actions()
                taken.route = None  # It belongs to the end of the run.
                event.actions = merge_actions([taken, event.actions])
        if event.node_info.path == run.path:
            self._check_state(run, event.actions)
        await self._pool.emit(event)

    def _check_state(self, run: NodeRun, actions: EventActions) -> None:
        check_state(actions.state_delta, run.node.state_schema or self._state_schema, run.node.name)

    async def _emit_end(self, run: NodeRun, invocation: InvocationContext, end: "_NodeEnd") -> None:
        content = end.content
        output_for: list[str] = []
        if end.is_message or end.output is not None:
            output_for = self._output_for(run)
        is_answer = self._plan.path in output_for
        if content is None and is_answer and isinstance(end.output, str):
            content = types.Content(role="model", parts=[types.Part(text=end.output)])
        event = node_end_event(
            invocation,
            content,
            end.actions,
            output=end.output,
            output_for=output_for,
            is_message=end.is_message,
        )
        await self._pool.emit(event)

    def _output_for(self, run: NodeRun) -> list[str]:
        """Return the paths of the runs that the run gives their output, itself first.

        Raises:
            SeveralOutputsError: the run gives a second output of the workflow.
        """
        if not self._plan.is_last(run):
            return [run.path]
        self._check_is_only_output(run.node.name)
        if self._ctx.node is not None:
            # The workflow is a node, whose own last event has the output, converted to its schema.
            return [run.path]
        return [run.path, self._plan.path]

    def _check_is_only_output(self, name: str) -> None:
        """Check that the output of the node, which no edge leaves, is the workflow's only one.

        Raises:
            SeveralOutputsError: another node has given one.
        """
        # The other's end may not be committed yet, and so not be in the plan.
        for other in (*self._plan.outputs, self._node_with_output):
            if other not in ("", name):
                raise SeveralOutputsError(self._ctx.agent.name, [other, name])
        self._node_with_output = name

    async def _emit_failure(self, run: NodeRun, failed_attempts: int, delay: float, error: Exception) -> None:
        """Commit a failed attempt: the wait for the next one outlives a restart."""
        event = agent_event(self._ctx_of(run))
        event.node_info = NodeInfo(
            path=run.path, failed_attempts=failed_attempts, retry_at=_platform.now() + delay
        )
        logger.warning(
            "Attempt %s of node %r has failed; the next begins in %.1f s",
            failed_attempts,
            run.path,
            delay,
            exc_info=error,
        )
        await self._pool.emit(event)

    def _ctx_of(self, run: NodeRun) -> InvocationContext:
        schema = run.node.state_schema or self._state_schema
        return replace(self._ctx, branch=run.branch, node=NodeCall(run.path, state_schema=schema))


@dataclass
class _NodeEnd:
    """Content, output, route and state for the last event of a run."""

    node_name: str
    output: Any = None
    content: types.Content | None = None
    is_message: bool = False
    actions: EventActions | None = None
    _given_actions: list[EventActions] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Take in an event with an output or a route."""
        if event.output is not None:
            if self.output is not None:
                raise NodeDataError(
                    f"Node {self.node_name!r} gave two outputs. Let it yield one, a list for example."
                )
            self.output = event.output
        self.content = event.content or self.content
        self.is_message = self.is_message or bool(event.node_info and event.node_info.message_as_output)
        self._given_actions.append(event.actions)

    def take_actions(self, ctx: NodeContext) -> None:
        """Take in what the code has done with its context."""
        self.actions = merge_actions([ctx.take_actions(), *self._given_actions])
        self.actions.route = stored_route(self.actions.route, self.node_name)


@dataclass
class _Attempt:
    """One attempt of a node.

    Attributes:
        open_questions: questions of earlier attempts without an answer that this attempt has not repeated yet.
        waits: True if a node that it runs waits for an answer.
    """

    run: NodeRun
    ctx: NodeContext
    record: RunRecord
    children: "ChildRuns"
    waits: bool = False

    def __post_init__(self) -> None:
        self.end = _NodeEnd(self.run.node.name)
        self.open_questions = [made.call for made in self.record.questions if made.waits]


def _is_for_end(event: Event, path: str) -> bool:
    """Return True if the event is for the end of the run at `path`, and not one on the way."""
    info = event.node_info
    if event.partial or (info is not None and info.path not in ("", path)):
        return False
    is_message = info is not None and bool(info.message_as_output)
    return event.output is not None or event.actions.route is not None or is_message


@asynccontextmanager
async def _limit_time(node_name: str, seconds: float) -> AsyncGenerator[None, None]:
    """Raise a NodeTimeoutError if the block takes longer."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise NodeTimeoutError(node_name=node_name, timeout=seconds) from error


class ChildRuns:
    """The child runs of one attempt of a node.

    Args:
        parent: run of the node.
    """

    def __init__(self, parent: NodeRun, run_node: RunNode) -> None:
        self._parent = parent
        self._run_node = run_node
        self._builder = NodeBuilder()
        self._numbers: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[RunRecord]] = {}
        self._is_closed = False

    async def run(
        self, node: Any, node_input: Any, run_id: str | None, *, use_sub_branch: bool, slots: Slots
    ) -> Any:
        """Run a node and return its output; see `NodeContext.run_node`.

        Raises:
            NodeWaitsError: the node waits for an answer.
        """
        # Code that runs on after its node has ended, such as a task that nobody has awaited.
        if self._is_closed:
            raise NodeWaitsError
        child = self._builder.build(node)
        if run_id is None:
            number = self._numbers.get(child.name, 0) + 1
            self._numbers[child.name] = number
            run_id = str(number)
        path = child_path(self._parent.path, child.name, run_id)
        if path in self._tasks:
            raise ConfigurationError(
                f"run_node has run {path!r} already. Give each run of a node its own run_id."
            )
        branch = self._parent.branch
        if use_sub_branch:
            segment = f"{child.name}@{run_id}"
            branch = f"{branch}.{segment}" if branch else segment
        # A task, because the others continue when one of several waits for an answer.
        task = asyncio.create_task(self._run_node(NodeRun(child, path, node_input, branch), slots))
        self._tasks[path] = task
        record = await task
        if not record.has_ended:
            raise NodeWaitsError
        return record.output

    async def settle(self) -> None:
        """Wait for the nodes that still run beside one that waits for an answer: they may ask, too.

        Raises:
            Exception: the failure of one of them.
        """
        self._is_closed = True
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        for task in self._tasks.values():
            task.result()

    async def cancel(self) -> None:
        """Cancel the nodes that still run: their caller has failed, or has not waited for them."""
        self._is_closed = True
        if not self._tasks:
            return
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

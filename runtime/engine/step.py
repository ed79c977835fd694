"""Steps of an LLM agent: a model call and its function calls, repeated until a final response (contract A6, A8).

    run_answered_calls   reruns calls that a person has answered (decide_answers)
            v
    continue_work        continues tasks (open_tasks), or else the interrupted step (decide_resume)
            v
    run_step             calls the model and runs its calls, again and again

Each part of a step is a generator of events. The Runner commits an event before it asks for the next, so everything
after a `yield` can rely on the commit. Async generators cannot return a value, so a function leaves its outcome in
`Step.next`: the next function runs after `CallModel`, and none after `Transfer` to another agent or `Stop`. Decisions
(`decide_answers`, `decide_resume`, `decide_next_step`) are pure functions of the committed events; this module acts on
them.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from runtime import types
from runtime._tasks import TaskPool
from runtime.context import InvocationContext
from runtime.engine.build_events import agent_event, is_long_running, new_call_id, request_event
from runtime.engine.code_execution import CodeToRun, code_to_run, run_code
from runtime.engine.function_calls import Batch, Tools, run_function_calls
from runtime.engine.human_input.answers import (
    AlreadyAnswered,
    Confirmations,
    NoAnswers,
    Rerun,
    decide_answers,
    requests_to_person,
)
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.model_call import stream_model_events
from runtime.engine.output import Output, note_task_result, structured_answer
from runtime.engine.request import build_request, callable_tools
from runtime.engine.resume.decide import (
    AskPerson,
    Continue,
    Decision,
    Done,
    Pause,
    Replay,
    RunCode,
    TransferTo,
    decide_resume,
)
from runtime.engine.tasks import group_calls, has_finished_task, is_task, open_tasks
from runtime.engine.tools import resolve_tools
from runtime.events.event import Event
from runtime.tools.base_tool import BaseTool
from runtime.tools.task_tools import TaskAgentTool, finishes_task


@dataclass(frozen=True)
class CallModel:
    """Run another step: call the model with the function responses."""


@dataclass(frozen=True)
class Transfer:
    """Another agent continues."""

    agent_name: str


@dataclass(frozen=True)
class Stop:
    """End the agent call: after a final response, or while a call waits for a response from outside."""


NextStep = CallModel | Transfer | Stop


@dataclass
class Step:
    """One step of an agent call.

    Attributes:
        next: what to do after the step; set while the step runs.
    """

    agent: LlmAgentProtocol
    ctx: InvocationContext
    next: NextStep = Stop()


async def run_llm_agent(agent: LlmAgentProtocol, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run steps until one stops or transfers. After a transfer, run the target agent."""
    step = Step(agent, ctx, CallModel())
    output = Output(agent, ctx)
    # Answers come before the resume: a rerun leaves response events, and `decide_resume` reads them.
    answers = decide_answers(ctx.session.events, ctx.invocation_id, (ctx.agent.name, ctx.node_path))
    if not isinstance(answers, NoAnswers):
        async with aclosing(run_answered_calls(step, answers)) as events:
            async for event in events:
                output.record(event)
                yield event
    if isinstance(step.next, CallModel):
        async with aclosing(continue_work(step)) as events:
            async for event in events:
                output.record(event)
                yield event
    while isinstance(step.next, CallModel) and not ctx.end_invocation:
        step = Step(agent, ctx)
        async with aclosing(run_step(step)) as events:
            async for event in events:
                output.record(event)
                yield event
    if isinstance(step.next, Transfer) and not ctx.end_invocation:
        # The target runs with the same context: it continues this invocation, and may be resumed as well.
        target = agent.root_agent.get_agent(step.next.agent_name)
        async with aclosing(target.run_async(ctx)) as events:
            async for event in events:
                yield event


async def run_single_call(
    agent: LlmAgentProtocol, ctx: InvocationContext, tool: BaseTool, args: dict[str, Any]
) -> AsyncGenerator[Event, None]:
    """Call the tool once, without a model; after an interruption, finish the call as it was recorded."""
    step = Step(agent, ctx)
    tools = {tool.name: tool}
    answers = decide_answers(ctx.session.events, ctx.invocation_id, (ctx.agent.name, ctx.node_path))
    decision: Decision = Continue()
    if ctx.resuming:
        decision = decide_resume(ctx)
    if isinstance(answers, Rerun):
        stream = run_calls(step, answers.calls, tools, answers.confirmations)
    elif isinstance(decision, Replay):
        stream = run_calls(step, decision.calls, tools)
    elif isinstance(decision, AskPerson):
        yield request_event(ctx, requests_to_person(decision.calls, decision.actions))
        return
    elif ctx.resuming:
        return
    else:
        call = types.FunctionCall(id=new_call_id(), name=tool.name, args=args)
        event = agent_event(ctx, types.Content(role="model", parts=[types.Part(function_call=call)]))
        if is_long_running(call, tools):
            event.long_running_tool_ids = {call.id or ""}
        yield event
        stream = run_calls(step, [call], tools)
    async with aclosing(stream) as events:
        async for event in events:
            yield event


async def run_answered_calls(step: Step, answers: AlreadyAnswered | Rerun) -> AsyncGenerator[Event, None]:
    """Rerun the calls after the person's confirmation or credential (contract T7, T8)."""
    agent = step.agent
    ctx = step.ctx
    match answers:
        case AlreadyAnswered():
            step.next = Stop()
        case Rerun(calls, confirmations):
            tools = {tool.name: tool for tool in await resolve_tools(agent, ctx)}
            async with aclosing(run_calls(step, calls, tools, confirmations)) as events:
                async for event in events:
                    yield event
            if isinstance(step.next, Transfer):
                # This transfer is new, so the target starts from the beginning.
                ctx.resuming = False


async def continue_work(step: Step) -> AsyncGenerator[Event, None]:
    """Continue tasks of earlier invocations, or else the interrupted step of this invocation."""
    tasks = open_tasks(step.agent, step.ctx)
    if tasks:
        step.ctx.resuming = False
        tools = {tool.name: tool for tool in await resolve_tools(step.agent, step.ctx)}
        stream = run_calls(step, tasks, tools)
    elif step.ctx.resuming:
        stream = run_resumed_step(step)
    else:
        return
    async with aclosing(stream) as events:
        async for event in events:
            yield event


async def run_resumed_step(step: Step) -> AsyncGenerator[Event, None]:
    """Finish a step after an interruption (contract R1)."""
    decision = decide_resume(step.ctx)
    step.ctx.resuming = isinstance(decision, TransferTo)  # the transfer target resumes too
    match decision:
        case Continue():
            step.next = Stop() if has_finished_task(step.ctx) else CallModel()
        case Pause() | Done():
            step.next = Stop()
        case RunCode(event):
            step.next = Stop()
            code = code_to_run(step.agent, step.ctx, event)
            if code is not None:
                yield await execute_code(step, code)
        case TransferTo(agent_name):
            step.next = Transfer(agent_name)
        case AskPerson(calls, actions):
            step.next = Stop()
            if actions.transfer_to_agent:
                step.next = Transfer(actions.transfer_to_agent)
            yield request_event(step.ctx, requests_to_person(calls, actions))
        case Replay(calls):
            # The request is built only for its tools: `resolve_tools` lacks tools such as `set_model_response`.
            model = step.ctx.run_config.model_of(step.agent, step.ctx.session.state)
            request = (await build_request(step.agent, step.ctx, model)).request
            async with aclosing(run_calls(step, calls, callable_tools(request))) as events:
                async for event in events:
                    yield event


async def run_step(step: Step) -> AsyncGenerator[Event, None]:
    """Call the model once, then run the function calls of its response."""
    agent = step.agent
    ctx = step.ctx
    model = ctx.run_config.model_of(agent, ctx.session.state)
    built = await build_request(agent, ctx, model)
    async with aclosing(stream_model_events(agent, ctx, model, built)) as events:
        async for event in events:
            if event.partial:
                yield event
                continue
            code = code_to_run(agent, ctx, event)
            yield event
            if event.is_final_response() or event.error_code:
                step.next = Stop()
            else:
                step.next = CallModel()
            calls = event.get_function_calls()
            if calls and not event.error_code:
                async with aclosing(run_calls(step, calls, callable_tools(built.request))) as answers:
                    async for answer in answers:
                        yield answer
            if code is not None:
                yield await execute_code(step, code)


async def execute_code(step: Step, code: CodeToRun) -> Event:
    """Run the model's code and return the event with the result. The model is called next."""
    step.next = CallModel()
    return await run_code(code, step.ctx)


async def run_calls(
    step: Step, calls: list[types.FunctionCall], tools: Tools, confirmations: Confirmations | None = None
) -> AsyncGenerator[Event, None]:
    """Run the calls. Yield an event with their responses, then an event with requests to the person, if any.

    The person talks to one agent at a time, so tasks run one after another, after the other calls.

    Raises:
        Exception: the failure of a call, after the responses of the other calls were committed (contract T2).
    """
    following: list[NextStep] = []
    for group in group_calls(calls, tools):
        async with aclosing(run_group(step, group, tools, confirmations)) as events:
            async for event in events:
                yield event
        if not isinstance(step.next, CallModel):
            following.append(step.next)
            if is_task(group[0], tools):
                break
    if following:
        step.next = following[0]


async def run_group(
    step: Step, calls: list[types.FunctionCall], tools: Tools, confirmations: Confirmations | None
) -> AsyncGenerator[Event, None]:
    """Run calls at once; see `run_calls`."""
    batch = Batch()
    if any(isinstance(tools.get(call.name or ""), TaskAgentTool) for call in calls):
        pool = TaskPool[Event]()

        async def run() -> None:
            nonlocal batch
            ctx = replace(step.ctx, emit=pool.emit)
            batch = await run_function_calls(step.agent, ctx, calls, tools, confirmations)

        pool.start("A sub-agent", run)
        async with aclosing(pool.items()) as events:
            async for event in events:
                yield event
    else:
        batch = await run_function_calls(step.agent, step.ctx, calls, tools, confirmations)
    response = batch.response_event(step.ctx)
    if response is not None:
        note_task_result(step.ctx, response)
        yield response
        requests = requests_to_person(calls, response.actions)
        if requests:
            yield request_event(step.ctx, requests)
    # Only now: a resume replays calls without a response, so completed responses have to be committed first.
    if batch.failure is not None:
        raise batch.failure
    step.next = decide_next_step(batch, response)
    if isinstance(step.next, CallModel):
        # `set_model_response` is the final answer in the form of a call: the model has nothing to add.
        answer = structured_answer(step.ctx, batch, tools)
        if answer is not None:
            step.next = Stop()
            yield answer


def decide_next_step(batch: Batch, response: Event | None) -> NextStep:
    """Decide what follows function responses (contract A6, A11, T5, Q9, Q10)."""
    if response is None or finishes_task(response):
        return Stop()
    actions = response.actions
    if actions.transfer_to_agent:
        return Transfer(actions.transfer_to_agent)
    if actions.skip_summarization or actions.asks_person() or batch.has_calls_without_response:
        return Stop()
    # Pending results of long-running calls go to the model, too (contract Q10).
    return CallModel()

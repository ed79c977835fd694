"""Steps of an LLM agent: a model call and its function calls, repeated until a final response (contract A6, A8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from runtime import types
from runtime.context import InvocationContext
from runtime.engine.build_events import request_event
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
from runtime.engine.output import Output, structured_answer
from runtime.engine.request import build_request, callable_tools
from runtime.engine.resume.decide import (
    AskPerson,
    Continue,
    Done,
    Pause,
    Replay,
    RunCode,
    TransferTo,
    decide_resume,
)
from runtime.engine.tools import resolve_tools
from runtime.events.event import Event


@dataclass(frozen=True)
class CallModel:
    """The next step calls the model with the function responses."""


@dataclass(frozen=True)
class Transfer:
    """Another agent continues."""

    agent_name: str


@dataclass(frozen=True)
class Stop:
    """The agent call is over: a final response, or a call whose response comes from outside."""


NextStep = CallModel | Transfer | Stop


@dataclass
class Step:
    """One step; `next` is set when it has run."""

    agent: LlmAgentProtocol
    ctx: InvocationContext
    next: NextStep = Stop()


async def run_llm_agent(agent: LlmAgentProtocol, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run steps until a step stops or transfers; after a transfer, run the target agent."""
    step = Step(agent, ctx, CallModel())
    output = Output(agent, ctx)
    answers = decide_answers(ctx.session.events, ctx.invocation_id, agent.name)
    if not isinstance(answers, NoAnswers):
        async with aclosing(run_answered_calls(step, answers)) as events:
            async for event in events:
                output.record(event)
                yield event
    if ctx.resuming and isinstance(step.next, CallModel):
        async with aclosing(run_resumed_step(step)) as events:
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
        target = agent.root_agent.get_agent(step.next.agent_name)
        async with aclosing(target.run_async(ctx)) as events:
            async for event in events:
                yield event


async def run_answered_calls(step: Step, answers: AlreadyAnswered | Rerun) -> AsyncGenerator[Event, None]:
    """Rerun the calls that the person has confirmed or given a credential for (contract T7, T8)."""
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
                ctx.resuming = False


async def run_resumed_step(step: Step) -> AsyncGenerator[Event, None]:
    """Finish an interrupted step according to its events (contract R1)."""
    decision = decide_resume(step.ctx)
    step.ctx.resuming = isinstance(decision, TransferTo)  # the transfer target resumes too
    match decision:
        case Continue():
            step.next = CallModel()
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
            request = (await build_request(step.agent, step.ctx, step.agent.canonical_model)).request
            async with aclosing(run_calls(step, calls, callable_tools(request))) as events:
                async for event in events:
                    yield event


async def run_step(step: Step) -> AsyncGenerator[Event, None]:
    """Call the model once and run the function calls it asks for."""
    agent = step.agent
    ctx = step.ctx
    model = agent.canonical_model
    built = await build_request(agent, ctx, model)
    async with aclosing(stream_model_events(agent, ctx, model, built)) as events:
        async for event in events:
            if event.partial:
                yield event
                continue
            code = code_to_run(agent, ctx, event)
            yield event
            step.next = Stop() if event.is_final_response() or event.error_code else CallModel()
            calls = event.get_function_calls()
            if calls and not event.error_code:
                async with aclosing(run_calls(step, calls, callable_tools(built.request))) as answers:
                    async for answer in answers:
                        yield answer
            if code is not None:
                yield await execute_code(step, code)


async def execute_code(step: Step, code: CodeToRun) -> Event:
    """Run code of the model and return the event with its result; the model is called next."""
    step.next = CallModel()
    return await run_code(code, step.ctx)


async def run_calls(
    step: Step, calls: list[types.FunctionCall], tools: Tools, confirmations: Confirmations | None = None
) -> AsyncGenerator[Event, None]:
    """Run the calls; yield an event with their responses, then an event with requests to the person, if any.

    Completed responses are yielded, and so committed, before a failure is raised (contract T2).
    """
    batch = await run_function_calls(step.agent, step.ctx, calls, tools, confirmations)
    response = batch.response_event(step.ctx)
    if response is not None:
        yield response
        requests = requests_to_person(calls, response.actions)
        if requests:
            yield request_event(step.ctx, requests)
    if batch.failure is not None:
        raise batch.failure
    step.next = decide_next_step(batch, response, tools)
    if step.next == CallModel():
        answer = structured_answer(step.ctx, batch, tools)
        if answer is not None:
            step.next = Stop()
            yield answer


def decide_next_step(batch: Batch, response: Event | None, tools: Tools) -> NextStep:
    """Decide the step after function responses: pending results go to the model, too (contract A6, T5, Q9, Q10)."""
    if response is None:
        return Stop()
    actions = response.actions
    if actions.transfer_to_agent:
        return Transfer(actions.transfer_to_agent)
    if actions.skip_summarization or actions.asks_person() or batch.has_calls_without_response(tools):
        return Stop()
    return CallModel()

"""An LLM agent's turn: steps of one model call and its function calls, until a final response (spec A6, A8)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from runtime import types
from runtime.context import InvocationContext
from runtime.engine.build_events import request_event
from runtime.engine.function_calls import Batch, Tools, run_function_calls
from runtime.engine.human_input.answers import (
    Confirmations,
    RunAgain,
    Spent,
    decide_answers,
    requests_to_person,
)
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.model_call import stream_model_events
from runtime.engine.output import structured_answer
from runtime.engine.request import build_request, callable_tools
from runtime.engine.resume.decide import Ask, Continue, Done, HandOver, Pause, Replay, decide_resume
from runtime.engine.tools import resolve_tools
from runtime.events.event import Event


@dataclass(frozen=True)
class Again:
    """Call the model again, with what the tools answered."""


@dataclass(frozen=True)
class Transfer:
    """Let another agent go on."""

    agent_name: str


@dataclass(frozen=True)
class Stop:
    """The turn is over: a final response, or a wait for an answer from outside."""


NextStep = Again | Transfer | Stop


@dataclass
class Step:
    """One step and, once it has run, what comes next."""

    agent: LlmAgentProtocol
    ctx: InvocationContext
    next: NextStep = Stop()


async def run_llm_agent(agent: LlmAgentProtocol, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run steps until one ends the agent's turn; a transfer ends it with another agent's run."""
    step = Step(agent, ctx, Again())
    async with aclosing(run_answered_calls(step)) as events:
        async for event in events:
            yield event
    if ctx.resuming and isinstance(step.next, Again):
        async with aclosing(run_resumed_step(step)) as events:
            async for event in events:
                yield event
    while isinstance(step.next, Again) and not ctx.end_invocation:
        step = Step(agent, ctx)
        async with aclosing(run_step(step)) as events:
            async for event in events:
                yield event
    if isinstance(step.next, Transfer) and not ctx.end_invocation:
        target = agent.root_agent.get_agent(step.next.agent_name)
        async with aclosing(target.run_async(ctx)) as events:
            async for event in events:
                yield event


async def run_answered_calls(step: Step) -> AsyncGenerator[Event, None]:
    """Run again the calls that the person has confirmed, or given a credential for (spec T7, T8)."""
    agent, ctx = step.agent, step.ctx
    match decide_answers(ctx.session.events, ctx.invocation_id, agent.name):
        case Spent():
            step.next = Stop()
        case RunAgain(calls, confirmations):
            tools = {tool.name: tool for tool in await resolve_tools(agent, ctx)}
            async with aclosing(run_calls(step, calls, tools, confirmations)) as events:
                async for event in events:
                    yield event
            if isinstance(step.next, Transfer):
                ctx.resuming = False


async def run_resumed_step(step: Step) -> AsyncGenerator[Event, None]:
    """Finish the step that an interruption cut off, as its events tell (spec R1)."""
    decision = decide_resume(step.ctx)
    step.ctx.resuming = isinstance(decision, HandOver)  # whom it handed over to goes on, too
    match decision:
        case Continue():
            step.next = Again()
        case Pause() | Done():
            step.next = Stop()
        case HandOver(agent_name):
            step.next = Transfer(agent_name)
        case Ask(calls, actions):
            step.next = Transfer(actions.transfer_to_agent) if actions.transfer_to_agent else Stop()
            yield request_event(step.ctx, requests_to_person(calls, actions))
        case Replay(calls):
            request = await build_request(step.agent, step.ctx, step.agent.canonical_model)
            async with aclosing(run_calls(step, calls, callable_tools(request))) as events:
                async for event in events:
                    yield event


async def run_step(step: Step) -> AsyncGenerator[Event, None]:
    """One model call, and the function calls that it asked for."""
    agent, ctx = step.agent, step.ctx
    model = agent.canonical_model
    request = await build_request(agent, ctx, model)
    async with aclosing(stream_model_events(agent, ctx, model, request)) as events:
        async for event in events:
            if event.partial:
                yield event
                continue
            agent.note_output(event)
            yield event
            step.next = Stop() if event.is_final_response() or event.error_code else Again()
            calls = event.get_function_calls()
            if calls and not event.error_code:
                async with aclosing(run_calls(step, calls, callable_tools(request))) as answers:
                    async for answer in answers:
                        yield answer


async def run_calls(
    step: Step, calls: list[types.FunctionCall], tools: Tools, again: Confirmations | None = None
) -> AsyncGenerator[Event, None]:
    """The one event that answers the calls, and one that asks the person for what they need (spec T7, T8).

    What finished is committed before a failure is raised (spec T2).
    """
    batch = await run_function_calls(step.agent, step.ctx, calls, tools, again)
    response = batch.event(step.ctx)
    if response is not None:
        yield response
        if requests := requests_to_person(calls, response.actions):
            yield request_event(step.ctx, requests)
    if batch.failure is not None:
        raise batch.failure
    step.next = next_after(step.ctx, batch, response, tools)
    if step.next == Again() and (answer := structured_answer(step.ctx, batch, tools)):
        step.next = Stop()
        step.agent.note_output(answer)
        yield answer


def next_after(ctx: InvocationContext, batch: Batch, response: Event | None, tools: Tools) -> NextStep:
    """What follows the answers to a step's calls (spec A6, T5, Q9, Q10)."""
    if response is None:
        return Stop()
    if response.actions.transfer_to_agent:
        return Transfer(response.actions.transfer_to_agent)
    if response.actions.skip_summarization or response.actions.asks_person():
        return Stop()
    pending = batch.pending_ids(tools)
    if not ctx.is_resumable:
        pending -= {result.call.id for result in batch.results if result.response is not None}
    return Stop() if pending else Again()

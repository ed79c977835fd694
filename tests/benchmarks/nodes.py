"""CPU of the nodes of a workflow that are functions: above that of an append, and on resume."""

from __future__ import annotations

import statistics
import time

from runtime import types
from runtime.events import Event
from runtime.events.node_info import NodeInfo
from runtime.events.request_input import RequestInput
from runtime.runners import Runner
from runtime.sessions import Session
from runtime.workflow import NodeContext, Workflow
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.benchmarks.people import make_person

FEW = 100
MANY = 1_000
ROUNDS = 3


def double(node_input: int) -> int:
    """Return twice the number."""
    return 2 * node_input


def ask() -> RequestInput:
    """Ask the person."""
    return RequestInput(message="On?")


async def loop(node_input: str, ctx: NodeContext) -> str:
    """Run as many nodes as the message says, one after the other, then ask."""
    for number in range(int(node_input)):
        await ctx.run_node(double, number)
    await ctx.run_node(ask)
    return "done"


async def measure() -> list[str]:
    """Return a line with the CPU of a node, and one with the growth of a loop of dynamic nodes."""
    user_id = str((await in_thread(make_person)).pk)
    runs: dict[int, list[float]] = {FEW: [], MANY: []}
    resumes: dict[int, list[float]] = {FEW: [], MANY: []}
    appends = []
    for _ in range(ROUNDS):
        for nodes in (FEW, MANY):
            run, resume = await _run_and_resume(user_id, nodes)
            runs[nodes].append(run)
            resumes[nodes].append(resume)
        appends.append(await _append_ms(user_id))
    run_ms = {nodes: statistics.median(times) for nodes, times in runs.items()}
    resume_ms = {nodes: statistics.median(times) for nodes, times in resumes.items()}
    append_ms = statistics.median(appends)
    node_ms = (run_ms[MANY] - run_ms[FEW]) / (MANY - FEW)
    return [
        f"node that is a function: {node_ms:.3f} ms of CPU, an append {append_ms:.3f} ms",
        f"{MANY} dynamic nodes: {run_ms[MANY] / run_ms[FEW]:.1f} times the CPU of {FEW}, "
        f"{resume_ms[MANY] / resume_ms[FEW]:.1f} times on resume ({resume_ms[MANY]:.1f} ms)",
    ]


async def _run_and_resume(user_id: str, nodes: int) -> tuple[float, float]:
    """Return the milliseconds of CPU of a run to its question, and from the answer to the end."""
    service = DjangoSessionService()
    flow = Workflow(name="flow", edges=[("START", loop)])
    runner = Runner(agent=flow, app_name="bench", session_service=service)
    session = await service.create_session(app_name="bench", user_id=user_id)
    run_ms, events = await _timed(runner, session, types.UserContent(str(nodes)))
    call = events[-1].get_function_calls()[0]
    response = types.FunctionResponse(id=call.id, name=call.name, response={"result": "on"})
    answer = types.UserContent(types.Part(function_response=response))
    resume_ms, _ = await _timed(runner, session, answer)
    return run_ms, resume_ms


async def _timed(runner: Runner, session: Session, message: types.Content) -> tuple[float, list[Event]]:
    began = time.process_time()
    stream = runner.run_async(user_id=session.user_id, session_id=session.id, new_message=message)
    events = [event async for event in stream]
    return (time.process_time() - began) * 1000, events


async def _append_ms(user_id: str) -> float:
    """Return the milliseconds of CPU of the append of an event such as a node's last."""
    service = DjangoSessionService()
    session = await service.create_session(app_name="bench", user_id=user_id)
    began = time.process_time()
    for number in range(MANY):
        info = NodeInfo(path=f"flow@1/loop@1/double@{number}", has_ended=True)
        event = Event(author="flow", invocation_id="e-bench", output=number, node_info=info)
        await service.append_event(session, event)
    return (time.process_time() - began) * 1000 / MANY

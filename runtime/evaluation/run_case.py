"""Run a case: send its messages to the agents, in a session in memory that no user sees."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from runtime.apps.app import App
from runtime.errors import EvaluationError, ModelError
from runtime.evaluation.eval_case import EvalCase, Invocation, SessionInput
from runtime.evaluation.metric import Metric, MetricResult
from runtime.evaluation.recording import InvocationRecording
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from runtime.sessions.session import Session

T = TypeVar("T")
USER = "test_user_id"


async def run_case(
    app: App, case: EvalCase, *, seconds: float | None = None, run_config: RunConfig | None = None
) -> list[Invocation]:
    """Send the messages of a case to an app, and return the invocations.

    Calls that wait for a person or a job are not answered.

    Args:
        seconds: maximum time for each message.

    Raises:
        EvaluationError: a message failed or took too long; the cause is the agent's exception, if any.
    """
    runner = InMemoryRunner(app=app)
    begin = case.session_input or SessionInput(app_name=app.name, user_id=USER)
    session = await runner.session_service.create_session(
        app_name=runner.app_name, user_id=begin.user_id, state=begin.state
    )
    # The failure becomes an EvaluationError, not an event.
    config = (run_config or RunConfig()).model_copy(update={"on_failure": _leave_to_caller})
    found = []
    for number, expected in enumerate(case.conversation or [], 1):
        started = time.monotonic()
        try:
            actual = await _in_time(seconds, _run_message(runner, session, expected, config))
        except Exception as error:
            raise EvaluationError(f"Message {number} of the case failed: {_reason(error)}") from error
        actual.duration = time.monotonic() - started
        actual.rubrics = [*(case.rubrics or []), *(expected.rubrics or [])] or None
        found.append(actual)
    return found


async def evaluate_case(
    metrics: Sequence[Metric], case: EvalCase, actual: Sequence[Invocation]
) -> list[MetricResult]:
    """Return the result of each metric; raise the errors of `Metric.evaluate`."""
    return [await metric.evaluate(actual, case.conversation or []) for metric in metrics]


async def _run_message(
    runner: InMemoryRunner, session: Session, expected: Invocation, config: RunConfig
) -> Invocation:
    recording = InvocationRecording(expected.user_content, expected.invocation_id, time.time())
    events = runner.run_async(
        user_id=session.user_id,
        session_id=session.id,
        new_message=expected.user_content,
        run_config=config,
    )
    # Closed after an error event or the timeout, too: the invocation must not continue.
    async with aclosing(events):
        async for event in events:
            if event.error_code:
                message = event.error_message or "there is no answer."
                raise ModelError(event.error_code, message, event.error_detail or "")
            if not event.partial:
                recording.add(event)
    return recording.invocation


def _leave_to_caller(agent_name: str, node_path: str | None, error: Exception) -> None:
    """Record nothing: the exception reaches the caller."""


async def _in_time(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            return await work
    except TimeoutError as error:
        # A TimeoutError of the agent's own code is a failure of the agent.
        if not timeout.expired():
            raise
        raise EvaluationError(f"it took longer than {seconds:.0f} s.") from error


def _reason(error: Exception) -> str:
    # Messages of other exceptions may hold secrets.
    if isinstance(error, ModelError):
        return f"{error.code}: {error.message}"
    return str(error) if isinstance(error, EvaluationError) else "the agent raised an exception."

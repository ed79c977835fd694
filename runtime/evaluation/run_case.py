"""Run a case: send its messages to the agents, in a session in memory that no user sees."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from runtime.apps.app import App
from runtime.errors import EvaluationError, ModelError
from runtime.evaluation.base_metric import Metric, MetricResult
from runtime.evaluation.eval_case import EvalCase, Invocation, SessionInput
from runtime.evaluation.recording import InvocationRecording
from runtime.evaluation.simulation.llm_backed_user_simulator import (
    LlmBackedUserSimulator,
    LlmBackedUserSimulatorConfig,
)
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from runtime.sessions.session import Session

T = TypeVar("T")
USER = "test_user_id"


async def run_case(
    app: App,
    case: EvalCase,
    *,
    seconds: float | None = None,
    run_config: RunConfig | None = None,
    simulator_config: LlmBackedUserSimulatorConfig | None = None,
) -> list[Invocation]:
    """Send the messages of a case to an app, and return the invocations.

    Calls that wait for a person or a job are not answered.

    Args:
        seconds: maximum time for each message.
        simulator_config: the simulated user of a scenario.

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
    found: list[Invocation] = []
    async for expected in _messages(case, found, simulator_config):
        started = time.monotonic()
        try:
            actual = await _limit_time(seconds, _run_message(runner, session, expected, config))
        except Exception as error:
            number = len(found) + 1
            raise EvaluationError(f"Message {number} of the case failed: {_reason(error)}") from error
        actual.duration = time.monotonic() - started
        actual.rubrics = [*(case.rubrics or []), *(expected.rubrics or [])] or None
        found.append(actual)
    return found


async def _messages(
    case: EvalCase, found: list[Invocation], config: LlmBackedUserSimulatorConfig | None
) -> AsyncIterator[Invocation]:
    """Yield the expected invocations, or those with the messages of a simulated user, who reads what was `found`."""
    if case.conversation_scenario is None:
        for expected in case.conversation or []:
            yield expected
        return
    user = LlmBackedUserSimulator(config or LlmBackedUserSimulatorConfig(), case.conversation_scenario)
    while message := await user.next_message(found):
        yield Invocation(user_content=message)


def check_metrics(metrics: Sequence[Metric], case: EvalCase) -> None:
    """Check that the metrics can judge a case, before it runs.

    Raises:
        EvaluationError: a metric needs the expected conversation, and the case has a scenario.
    """
    for metric in metrics:
        if case.conversation_scenario and metric.needs_reference:
            raise EvaluationError(
                f"criteria.{metric.name}: it compares with an expected conversation, and a conversation_scenario has "
                "none. Choose criteria of judges for this set."
            )


async def evaluate_case(
    metrics: Sequence[Metric], case: EvalCase, actual: Sequence[Invocation]
) -> list[MetricResult]:
    """Return the result of each metric; raise the errors of `Metric.evaluate`."""
    expected = expected_of(case, actual)
    return [await metric.evaluate(actual, expected, case.conversation_scenario) for metric in metrics]


def expected_of(case: EvalCase, actual: Iterable[Invocation]) -> list[Invocation]:
    """Return the expected conversation; for a scenario, the messages of the actual conversation."""
    if case.conversation_scenario:
        return [Invocation(user_content=invocation.user_content) for invocation in actual]
    return case.conversation or []


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


async def _limit_time(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
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
    if not isinstance(error, EvaluationError):
        return "the agent raised an exception."
    return str(error)

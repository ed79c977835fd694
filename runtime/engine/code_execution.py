"""Find the code in a model's answer, run it, and answer it by an event with the result (contract A2, T12)."""

from collections.abc import Sequence
from typing import NamedTuple

from runtime import types
from runtime._tasks import exceptions_only
from runtime.code_executors.base_code_executor import BaseCodeExecutor
from runtime.code_executors.code_blocks import trailing_code
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.context import Context, InvocationContext
from runtime.engine.build_events import agent_event
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.events.calls import parts_of
from runtime.events.event import Event


class CodeToRun(NamedTuple):
    """Code of a model, and the executor to run it with."""

    executor: BaseCodeExecutor
    code: str


def parts_with_code(
    agent: LlmAgentProtocol, ctx: InvocationContext, parts: Sequence[types.Part]
) -> list[types.Part] | None:
    """Return the parts of an answer up to its first code, as a code part; None if no code has to run.

    Function calls of the same answer take precedence.
    """
    executor = agent.code_executor
    if executor is None or any(part.function_call for part in parts):
        return None
    split = executor.split_at_code(parts)
    # After too many failures the code stays a text, which ends the turn: a model could fail forever.
    if split is None or _failures_in_a_row(ctx, agent.name) >= executor.error_retry_attempts:
        return None
    return split


def code_to_run(agent: LlmAgentProtocol, ctx: InvocationContext, event: Event) -> CodeToRun | None:
    """Return the code at the end of an event, or None if there is none to run."""
    executor = agent.code_executor
    code = trailing_code(event.content)
    # Checked again, although the answer was split before it was committed: its last part may be code that the model
    # wrote as such. That of a built-in executor has run in the model, and after too many failures none may run.
    if executor is None or not code or event.error_code or not parts_with_code(agent, ctx, parts_of(event)):
        return None
    return CodeToRun(executor, code)


async def run_code(run: CodeToRun, ctx: InvocationContext) -> Event:
    """Run code and return the event with its result; output files become artifacts."""
    executor = run.executor
    # The session's id lets an executor keep variables between the pieces of code of one session.
    given = CodeExecutionInput(run.code, execution_id=ctx.session.id if executor.stateful else None)
    with exceptions_only(type(executor).__name__):
        result = await executor.execute_code_async(ctx, given)
    context = Context(ctx)
    for file in result.output_files:
        artifact = types.Part.from_bytes(data=file.as_bytes(), mime_type=file.mime_type)
        await context.save_artifact(file.name, artifact)
    return agent_event(ctx, types.Content(role="model", parts=[_result_part(result)]), context.actions)


def _result_part(result: CodeExecutionResult) -> types.Part:
    if result.stderr:
        return types.Part.from_code_execution_result(
            outcome=types.Outcome.OUTCOME_FAILED, output=result.stderr
        )
    shown = []
    if result.stdout or not result.output_files:
        shown.append(f"Code execution result:\n{result.stdout}\n")
    if result.output_files:
        shown.append("Saved artifacts:\n" + ",".join(f"`{file.name}`" for file in result.output_files))
    return types.Part.from_code_execution_result(outcome=types.Outcome.OUTCOME_OK, output="\n\n".join(shown))


def _failures_in_a_row(ctx: InvocationContext, author: str) -> int:
    """Return how many of the agent's latest code results in this invocation are failures without a success between."""
    count = 0
    for event in reversed(ctx.events()):
        if event.author != author or not event.has_trailing_code_execution_result():
            continue
        result = parts_of(event)[-1].code_execution_result
        if result is None or result.outcome != types.Outcome.OUTCOME_FAILED:
            break
        count += 1
    return count

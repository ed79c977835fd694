"""job_tool: a function that a Celery worker runs becomes a tool that an agent calls (design.md, spec T5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload
from uuid import UUID, uuid4

from celery import Task, shared_task

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.arguments import BadArguments, bind
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.tool_result import ToolError
from sessions_app.jobs.work import RetryPolicy, work
from sessions_app.services.staging import stage_job


class JobTool(LongRunningFunctionTool):
    """A long-running tool whose function runs in a Celery worker.

    The model gets its declaration from the function's signature and docstring. A call answers at once that the job is
    queued; its result comes back into the conversation by itself. `func` is the plain function.

    Raises:
        ConfigurationError: the function takes a tool context, which does not exist in a worker.
    """

    def __init__(self, func: Callable[..., Any], policy: RetryPolicy, limits: dict[str, float]) -> None:
        super().__init__(func)
        if self._signature.context_names:
            raise ConfigurationError(
                f"Job tool {self.name!r} takes a tool context, but runs in a worker. Use progress() and "
                "save_artifact() of sessions_app.jobs instead."
            )
        self.policy = policy
        self.task_name = f"{func.__module__}.{func.__name__}"

        def run(task: Task[Any, None], job_id: str) -> None:
            work(self.run_here, policy, task, UUID(job_id))

        options: dict[str, Any] = {"bind": True, "ignore_result": True, **limits}
        register: Callable[[Callable[..., None]], object] = shared_task(name=self.task_name, **options)
        register(run)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Have the job made with the event that records this answer; wrong arguments are refused at once."""
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return ToolError(bound.message)
        job_id = str(uuid4())
        stage_job(
            {
                "id": job_id,
                "invocation_id": tool_context.invocation_id,
                "call_id": tool_context.function_call_id,
                "tool_name": self.name,
                "task_name": self.task_name,
                "agent_name": tool_context.agent_name,
                "args": args,
            }
        )
        return {"status": "queued", "job_id": job_id}

    def run_here(self, args: dict[str, Any]) -> Any:
        """Call the function with the arguments that the model gave, converted to their types."""
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            raise ConfigurationError(bound.message)
        return self.func(**bound)


@overload
def job_tool(func: Callable[..., Any], /) -> JobTool: ...


@overload
def job_tool(
    *,
    retry_on: tuple[type[Exception], ...] = (),
    max_retries: int = 3,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
) -> Callable[[Callable[..., Any]], JobTool]: ...


def job_tool(
    func: Callable[..., Any] | None = None,
    /,
    *,
    retry_on: tuple[type[Exception], ...] = (),
    max_retries: int = 3,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
) -> JobTool | Callable[[Callable[..., Any]], JobTool]:
    """Make a tool of a function that takes its time.

    Args:
        retry_on: exceptions after which the job is tried again, later each time.
        max_retries: how often.
        soft_time_limit: seconds after which the function is told to stop, by Celery's SoftTimeLimitExceeded.
        time_limit: seconds after which its process is killed.
    """
    limits = {"soft_time_limit": soft_time_limit, "time_limit": time_limit}
    given = {name: limit for name, limit in limits.items() if limit is not None}

    def make(function: Callable[..., Any]) -> JobTool:
        return JobTool(function, RetryPolicy(retry_on, max_retries), given)

    return make if func is None else make(func)

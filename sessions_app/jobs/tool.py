"""job_tool: a function that a Celery worker runs becomes a tool that an agent calls (design.md, spec T5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload
from uuid import UUID, uuid4

from celery import Task, shared_task
from django.utils import timezone

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.arguments import BadArguments, bind
from runtime.tools.function_declaration import read_signature
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.tool_result import ToolError
from sessions_app.codec import storable_values
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.run import RetryPolicy, work
from sessions_app.jobs.staging import stage_job
from sessions_app.timing import parse_moment

RUN_AT = "run_at"


def put_off(run_at: str | None = None) -> None:
    """What a job that can be put off is declared with, besides its own parameters.

    Args:
        run_at: When the job is to begin, if not now: ISO 8601 with an offset from UTC, such as
            '2026-11-21T09:00+01:00', or from now on, such as 'in 10 minutes'.
    """


class JobTool(LongRunningFunctionTool):
    """A long-running tool whose function runs in a Celery worker.

    The model gets its declaration from the function's signature and docstring. A call answers at once that the job is
    queued; its result comes back into the conversation by itself. `func` is the plain function.

    Args:
        is_delayable: whether the model may say when it is to begin.

    Raises:
        ConfigurationError: the function takes a tool context, which does not exist in a worker, or a `run_at` of its
            own although it can be put off.
    """

    def __init__(
        self, func: Callable[..., Any], policy: RetryPolicy, limits: dict[str, float], *, is_delayable: bool
    ) -> None:
        super().__init__(func)
        if self._signature.context_names:
            raise ConfigurationError(
                f"Job tool {self.name!r} takes a tool context, but runs in a worker. Use progress() and "
                "save_artifact() of sessions_app.jobs instead."
            )
        self._own_signature = self._signature
        self._is_delayable = is_delayable
        if is_delayable:
            self._declare_run_at()
        self.policy = policy
        self.task_name = f"{func.__module__}.{func.__name__}"

        def run(task: Task[Any, None], job_id: str) -> None:
            work(self.run_here, policy, task, UUID(job_id))

        # By its name: processes that are no workers need not load Celery's worker.
        request = "sessions_app.jobs.time_limit:JobRequest"
        options: dict[str, Any] = {"bind": True, "ignore_result": True, "Request": request, **limits}
        register: Callable[[Callable[..., None]], object] = shared_task(name=self.task_name, **options)
        register(run)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Have the job made with the event that records this answer; wrong arguments are refused at once."""
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return ToolError(bound.message)
        own = dict(args)
        asked = own.pop(RUN_AT, None) if self._is_delayable else None
        try:
            run_at = parse_moment(asked, timezone.localtime()).isoformat() if asked else None
        except InvalidInputError as error:
            return ToolError(f"Nothing was done. {error}")
        job_id = str(uuid4())
        stage_job(
            {
                "id": job_id,
                "invocation_id": tool_context.invocation_id,
                "call_id": tool_context.function_call_id,
                "tool_name": self.name,
                "task_name": self.task_name,
                "agent_name": tool_context.agent_name,
                "args": storable_values(own),
                "run_at": run_at,
            }
        )
        return {"status": "queued", "job_id": job_id, **({RUN_AT: run_at} if run_at else {})}

    def run_here(self, args: dict[str, Any]) -> Any:
        """Call the function with the arguments that the model gave, converted to their types."""
        bound = bind(self._own_signature, args)
        if isinstance(bound, BadArguments):
            raise ConfigurationError(bound.message)
        return self.func(**bound)

    def _declare_run_at(self) -> None:
        if RUN_AT in [parameter.name for parameter in self._signature.parameters]:
            raise ConfigurationError(
                f"Job tool {self.name!r} is delayable, so {RUN_AT!r} says when it begins. Rename its own parameter."
            )
        parameters = (*self._signature.parameters, *read_signature(put_off).parameters)
        self._signature = replace(self._signature, parameters=parameters)


@overload
def job_tool(func: Callable[..., Any], /) -> JobTool: ...


@overload
def job_tool(
    *,
    retry_on: tuple[type[Exception], ...] = (),
    max_retries: int = 3,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
    delayable: bool = False,
) -> Callable[[Callable[..., Any]], JobTool]: ...


def job_tool(
    func: Callable[..., Any] | None = None,
    /,
    *,
    retry_on: tuple[type[Exception], ...] = (),
    max_retries: int = 3,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
    delayable: bool = False,
) -> JobTool | Callable[[Callable[..., Any]], JobTool]:
    """Make a tool of a function that takes its time.

    Args:
        retry_on: exceptions after which the job is tried again, later each time.
        max_retries: how often.
        soft_time_limit: seconds after which the function is told to stop, by Celery's SoftTimeLimitExceeded.
        time_limit: seconds after which its process is killed. The job has failed then; it is not tried again.
        delayable: whether the model may say when the job is to begin, by a parameter `run_at` that it is declared
            with besides the function's own.
    """
    limits = {"soft_time_limit": soft_time_limit, "time_limit": time_limit}
    given = {name: limit for name, limit in limits.items() if limit is not None}

    def make(function: Callable[..., Any]) -> JobTool:
        return JobTool(function, RetryPolicy(retry_on, max_retries), given, is_delayable=delayable)

    return make if func is None else make(func)

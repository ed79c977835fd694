"""`job_tool`: turn a function, executed by a Celery worker, into a tool of an agent."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from inspect import iscoroutinefunction
from typing import Any, overload
from uuid import UUID

from celery import Task, shared_task
from django.conf import settings

from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.arguments import BadArguments, bind
from runtime.tools.callables import underlying_function
from runtime.tools.function_signature import read_signature
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.tool_result import ToolError
from sessions_app.base.timing import parse_moment, zone_of
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.jobs.run import JobRetries, run_job
from sessions_app.jobs.staging import stage_call
from sessions_app.process.pool import database_now

RUN_AT = "run_at"


def start_parameter(run_at: str | None = None) -> None:
    """Declare the parameter that every delayable job tool has in addition to its own.

    Args:
        run_at: Start time of the job, if not now: ISO 8601 with an offset from UTC, such as
            '2026-11-21T09:00+01:00', or a delay such as 'in 10 minutes'.
    """


class JobTool(LongRunningFunctionTool):
    """A long-running tool whose function runs in a Celery worker.

    The declaration for the model comes from the function's signature and docstring. A call returns immediately with
    the status `queued`; the result arrives later as a second function response. `func` is the plain function.

    Args:
        limits: the options `soft_time_limit` and `time_limit` of the Celery task, in seconds.
        is_delayable: True if the model may choose the start time.

    Raises:
        ConfigurationError: the function is `async`, or takes a tool context, which does not exist in a worker, or a
            delayable function has its own parameter `run_at`.
    """

    def __init__(
        self, func: Callable[..., Any], retries: JobRetries, limits: dict[str, float], *, is_delayable: bool
    ) -> None:
        super().__init__(func)
        if self._signature.context_names:
            raise ConfigurationError(
                f"Job tool {self.name!r} takes a tool context, but it runs in a worker. Use progress() and "
                "save_artifact() of sessions_app.jobs instead."
            )
        if iscoroutinefunction(underlying_function(func)):
            raise ConfigurationError(
                f"Job tool {self.name!r} is an async function, and a Celery worker calls synchronous ones. Write it "
                f"without async, or offer as_job(FunctionTool({self.name}))."
            )
        # The function is called without `run_at`, which only the model's call may have.
        self._own_signature = self._signature
        self._is_delayable = is_delayable
        if is_delayable:
            self._declare_run_at()
        self.retries = retries
        self.task_name = f"{func.__module__}.{func.__name__}"

        def run(task: Task[Any, None], job_id: str) -> None:
            run_job(self, task, UUID(job_id))

        # Named, not imported: only worker processes should import Celery's worker.
        request = "sessions_app.jobs.forced_end:JobRequest"
        options: dict[str, Any] = {"bind": True, "ignore_result": True, "Request": request, **limits}
        register: Callable[[Callable[..., None]], object] = shared_task(name=self.task_name, **options)
        register(run)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Stage the job for the event with this response. Invalid arguments are refused immediately."""
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return ToolError(bound.message)
        function_args = dict(args)
        start = function_args.pop(RUN_AT, None) if self._is_delayable else None
        try:
            run_at = await _parse_start(start) if start else None
        except InvalidInputError as error:
            return ToolError(f"The job was not started. {error}")
        pending = stage_call(self.name, self.task_name, function_args, tool_context, run_at)
        if run_at:
            pending[RUN_AT] = run_at.isoformat()
        return pending

    def run_here(self, args: dict[str, Any]) -> Any:
        """Call the function in this process with the model's arguments, converted to the annotated types."""
        bound = bind(self._own_signature, args)
        if isinstance(bound, BadArguments):
            raise ConfigurationError(bound.message)
        return self.func(**bound)

    def _declare_run_at(self) -> None:
        if RUN_AT in [parameter.name for parameter in self._signature.parameters]:
            raise ConfigurationError(
                f"Job tool {self.name!r} is delayable, so {RUN_AT!r} is its start time. Rename its own parameter."
            )
        parameters = (*self._signature.parameters, *read_signature(start_parameter).parameters)
        self._signature = replace(self._signature, parameters=parameters)


async def _parse_start(start: str) -> datetime:
    now = (await database_now()).astimezone(zone_of(settings.TIME_ZONE))
    return parse_moment(start, now, timedelta(seconds=conf().schedule_longest_seconds))


@overload
def job_tool(func: Callable[..., Any], /) -> JobTool: ...


@overload
def job_tool(
    *,
    title: str | None = None,
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
    title: str | None = None,
    retry_on: tuple[type[Exception], ...] = (),
    max_retries: int = 3,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
    delayable: bool = False,
) -> JobTool | Callable[[Callable[..., Any]], JobTool]:
    """Turn a long-running function into a tool.

    Args:
        title: phrase for people, such as "Write the report of {month}": see `BaseTool`.
        retry_on: exceptions after which the job is retried, with increasing delays.
        max_retries: maximum number of retries.
        soft_time_limit: seconds after which Celery raises SoftTimeLimitExceeded in the function.
        time_limit: seconds after which the process is killed. The job fails and is not retried.
        delayable: True to let the model choose the start time with an additional parameter `run_at`.
    """
    limits = {"soft_time_limit": soft_time_limit, "time_limit": time_limit}
    set_limits = {name: limit for name, limit in limits.items() if limit is not None}

    def make(function: Callable[..., Any]) -> JobTool:
        tool = JobTool(function, JobRetries(retry_on, max_retries), set_limits, is_delayable=delayable)
        tool.title = title
        return tool

    return make if func is None else make(func)

"""`as_job`: let the calls of any tool, or of a toolset's tools, run as jobs.

A tool object cannot be sent to a worker. The job row has the names of agent and tool, and the worker finds the tool in
its own copy of the app (`run_tool`).
"""

from typing import Any, overload

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models.base_llm import SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.long_running_tool import with_pending_note
from sessions_app.jobs.run import JobRetries
from sessions_app.jobs.staging import stage_call
from sessions_app.process.celery_dispatch import RUN_TOOL_JOB


class ToolAsJob(BaseTool):
    """A long-running tool whose calls are executed by another tool in a Celery worker.

    Attributes:
        retries: retries after its exceptions.

    Raises:
        ConfigurationError: the tool cannot run in a job.
    """

    def __init__(self, tool: BaseTool, retries: JobRetries) -> None:
        if not can_run_in_job(tool):
            raise ConfigurationError(
                f"Tool {tool.name!r} cannot be a job: it works on the running invocation, its answer comes from "
                "outside, or the model does not call it. Offer it to the agent without as_job."
            )
        super().__init__(name=tool.name, description=tool.description, is_long_running=True)
        self.title = tool.title
        self.may_allow_for_session = tool.may_allow_for_session
        self.confirmed_by = tool.confirmed_by
        self.tool = tool
        self.retries = retries

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        declaration = self.tool._get_declaration()
        return declaration and with_pending_note(declaration)

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """Return the answer of the tool. The person confirms before the job is staged."""
        return await self.tool.needs_confirmation(args=args, tool_context=tool_context)

    async def show_files(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Let the tool show the files of its results, saved by jobs."""
        await self.tool.show_files(tool_context=tool_context, llm_request=llm_request)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Stage the job for the event with this response, unless the person has to sign in before it."""
        if not await self.tool.is_ready_for_job(tool_context=tool_context):
            return None
        return stage_call(self.name, RUN_TOOL_JOB, args, tool_context)


class ToolsetAsJobs(BaseToolset):
    """A toolset whose tools are jobs. Tools that cannot be jobs are offered unchanged.

    Attributes:
        toolset: the toolset with filter and prefix.
        retries: retries after exceptions of the tools, and of the toolset when a worker asks for them.
    """

    def __init__(self, toolset: BaseToolset, retries: JobRetries) -> None:
        super().__init__()
        self.toolset = toolset
        self.retries = retries

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools of the toolset as jobs."""
        tools = await self.toolset.get_tools_with_prefix(readonly_context)
        return [ToolAsJob(tool, self.retries) if can_run_in_job(tool) else tool for tool in tools]

    async def get_tools_with_prefix(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        # Filter, prefix and cache are the inner toolset's: `get_tools` has applied them.
        return await self.get_tools(readonly_context)

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Let the toolset change the request."""
        await self.toolset.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def setup_problems(self) -> list[SetupProblem]:
        return self.toolset.setup_problems()

    async def close(self) -> None:
        await self.toolset.close()


def can_run_in_job(tool: BaseTool) -> bool:
    """Return True for a tool called by the model which answers by itself, without the running invocation."""
    return tool.can_run_in_job and not tool.is_long_running and tool._get_declaration() is not None


@overload
def as_job(
    tool: BaseTool, *, retry_on: tuple[type[Exception], ...] = (), max_retries: int = 3
) -> ToolAsJob: ...


@overload
def as_job(
    tool: BaseToolset, *, retry_on: tuple[type[Exception], ...] = (), max_retries: int = 3
) -> ToolsetAsJobs: ...


def as_job(
    tool: BaseTool | BaseToolset, *, retry_on: tuple[type[Exception], ...] = (), max_retries: int = 3
) -> ToolAsJob | ToolsetAsJobs:
    """Let the calls of a tool, or of a toolset's tools, run in Celery workers.

    Args:
        retry_on: exceptions after which the job is retried, with increasing delays.
        max_retries: maximum number of retries.

    Raises:
        ConfigurationError: the tool cannot run in a job.
    """
    retries = JobRetries(retry_on, max_retries)
    return ToolsetAsJobs(tool, retries) if isinstance(tool, BaseToolset) else ToolAsJob(tool, retries)

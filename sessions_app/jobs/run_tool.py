"""Execution of a tool's call in a worker: find the tool, run it on the process's event loop, stop it when cancelled.

The tool runs on the background loop of the process, and the worker's main thread waits for it: signals reach the main
thread only, so a soft limit or a cancellation can interrupt the wait and cancel the call.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar
from uuid import UUID

from celery import Task

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.tree import agents_named, tools_of
from runtime.apps.app import App
from runtime.context import Context, InvocationContext
from runtime.errors import ConfigurationError, SessionNotFoundError
from runtime.sessions.base_session_service import GetSessionConfig
from runtime.sessions.state import State
from runtime.tools.base_tool import BaseTool
from runtime.tools.progress import receiving_progress
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.toolset_use import using
from sessions_app.jobs.api import JobCancelled, JobError, current_job
from sessions_app.jobs.as_job import ToolAsJob, ToolsetAsJobs
from sessions_app.jobs.run import JobRetries, run_job
from sessions_app.models import ToolJob
from sessions_app.process.threads import background_loop
from sessions_app.store import (
    DjangoArtifactService,
    DjangoCredentialService,
    DjangoMemoryService,
    DjangoSessionService,
)

T = TypeVar("T")
Source = ToolAsJob | ToolsetAsJobs
"""Tool or toolset whose calls become jobs."""


class JobContext(Context):
    """Context of a call in a worker: the tool reads the session and saves files, and changes nothing else.

    The invocation of the call has continued or ended when the job runs, so a change of state could not be part of its
    events.
    """

    def __init__(self, invocation: InvocationContext, function_call_id: str) -> None:
        super().__init__(invocation, function_call_id=function_call_id)
        self._state = _ReadOnlyState(invocation.session.state, {})

    async def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Store a new version of a file and record it in the job."""
        version = await super().save_artifact(filename, artifact)
        if job := current_job.get():
            job.record_artifact(filename, version)
        return version

    def request_confirmation(self, *, hint: str | None = None, payload: Any | None = None) -> NoReturn:
        """Refuse: the person confirms before the job."""
        raise ConfigurationError("A job cannot ask for a confirmation. Give the tool require_confirmation.")

    def request_credential(self, auth_config: object) -> NoReturn:
        """Refuse: the person signs in before the job."""
        raise ConfigurationError(
            "A job cannot ask for a credential. Call the tool again if the person's sign-in has ended since, or offer "
            "a tool that needs a key or a password without as_job."
        )


class _ReadOnlyState(State):
    def __setitem__(self, key: str, value: Any) -> None:
        raise ConfigurationError(
            f"A job cannot change the state (key {key!r}): the conversation goes on meanwhile. Return the value, "
            "and write the state in a callback of the agent."
        )


async def open_context(job: ToolJob, agent: BaseAgent) -> JobContext:
    """Return the context for a job.

    Raises:
        SessionNotFoundError: the session was deleted in the meantime.
    """
    sessions = DjangoSessionService()
    session = await sessions.get_session(
        **job.session.runtime_args,
        config=GetSessionConfig(without_superseded=True),
    )
    if session is None:
        raise SessionNotFoundError(f"Session {job.session.key!r} is gone: it was deleted meanwhile.")
    invocation = InvocationContext(
        invocation_id=job.invocation_id,
        agent=agent,
        session=session,
        session_service=sessions,
        artifact_service=DjangoArtifactService(),
        memory_service=DjangoMemoryService(),
        credential_service=DjangoCredentialService(),
    )
    return JobContext(invocation, job.call_id)


@dataclass(frozen=True)
class Candidates:
    """The agent of a job, and the agent's tools and toolsets, of which one has the called tool.

    Attributes:
        sources: the tools and toolsets, in the order of the search.
    """

    app: App
    agent: BaseAgent
    sources: tuple[Source, ...]


class ToolCall:
    """Call of a tool in a worker; a `JobWork`."""

    def __init__(self, job: ToolJob) -> None:
        self._job = job
        self._candidates = _find_candidates(job)
        self._source: Source | None = None

    @property
    def retries(self) -> JobRetries:
        """Retries of the source of the tool, or of the source that failed to list its tools."""
        return self._source.retries if self._source else JobRetries()

    def run_here(self, args: dict[str, Any]) -> Any:
        """Find the tool and run it on the process's event loop.

        Raises:
            JobError: no agent has the tool.
        """
        if self._candidates is None:
            raise missing_tool_error(self._job.tool_name)
        return _wait_for(self._run(self._candidates, args))

    async def _run(self, candidates: Candidates, args: dict[str, Any]) -> Any:
        with using(candidates.app):
            context = await open_context(self._job, candidates.agent)
            tool = await self._find_tool(candidates, context)
            return await _call_tool(tool, context, args)

    async def _find_tool(self, candidates: Candidates, context: JobContext) -> BaseTool:
        for source in candidates.sources:
            self._source = source
            tools = [source] if isinstance(source, ToolAsJob) else await source.get_tools(context)
            for tool in tools:
                if isinstance(tool, ToolAsJob) and tool.name == self._job.tool_name:
                    return tool.tool
        raise missing_tool_error(self._job.tool_name)


def run_tool_job(task: Task[Any, None], job_id: UUID) -> None:
    """Run the job's call; see `sessions_app.jobs.run.run_job`."""
    job = ToolJob.objects.select_related("session").filter(pk=job_id).first()
    if job is not None:
        run_job(ToolCall(job), task, job_id)


def missing_tool_error(name: str) -> JobError:
    """Return the error for a tool removed after the call."""
    return JobError(f"The tool {name!r} is not offered any more.")


def _find_candidates(job: ToolJob) -> Candidates | None:
    """Return the first agent of the job's agent name with the called tool or any toolset; None if there is none."""
    # A toolset is only asked for its tools later, on the event loop: that may need a connection to a server.
    app = registry.apps().get(job.session.app_name)
    if app is None:
        return None
    for agent in agents_named(app.root_agent, job.agent_name):
        jobs = [
            tool for tool in tools_of(agent) if isinstance(tool, ToolAsJob) and tool.name == job.tool_name
        ]
        toolsets = [tool for tool in tools_of(agent) if isinstance(tool, ToolsetAsJobs)]
        if jobs or toolsets:
            return Candidates(app, agent, (*jobs, *toolsets))
    return None


async def _call_tool(tool: BaseTool, context: JobContext, args: dict[str, Any]) -> Any:
    """Call the tool and report its progress. When the job is cancelled, cancel the call and raise JobCancelled."""
    call = asyncio.current_task()
    running = current_job.get()
    was_cancelled = False

    def report(done: float, total: float, message: str) -> None:
        nonlocal was_cancelled
        try:
            if running:
                running.progress(done, total, message)
        except JobCancelled:  # The client behind the progress would swallow the exception.
            if call and not was_cancelled:
                call.cancel()
            was_cancelled = True

    try:
        with receiving_progress(report):
            return await tool.run_in_job(args=args, tool_context=context)
    except asyncio.CancelledError:
        if was_cancelled:
            raise JobCancelled from None
        raise


def _wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the process's event loop; cancel it when a signal handler raises in this thread."""
    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise

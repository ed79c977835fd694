"""The context of a tool in a job: it reads the session and saves files, and changes nothing else.

The invocation of the call has continued or ended when the job runs, so a change of state could not be part of its
events.
"""

from typing import Any, NoReturn

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.errors import ConfigurationError, SessionNotFoundError
from runtime.sessions.base_session_service import GetSessionConfig
from runtime.sessions.state import State
from sessions_app.jobs.api import current_job
from sessions_app.models import ToolJob
from sessions_app.store import (
    DjangoArtifactService,
    DjangoCredentialService,
    DjangoMemoryService,
    DjangoSessionService,
)


class JobContext(Context):
    """Context of a call in a worker."""

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

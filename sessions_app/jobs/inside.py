"""What a job's function may use: `progress` and `save_artifact`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from runtime import types
from runtime.errors import ConfigurationError


class Job(Protocol):
    """The job that is running."""

    def progress(self, done: float, total: float, message: str) -> None:
        """How far it is."""

    def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Keep a file; returns its version."""


current_job: ContextVar[Job | None] = ContextVar("current_job", default=None)


class JobCancelled(Exception):
    """Someone wants the job to stop. Raised by `progress`; let it pass."""


def progress(done: float, total: float, message: str = "") -> None:
    """Tell how far the job is, in units of your own. Cheap: call it as often as you like.

    Outside of a job it does nothing, so that the function can be called by itself.

    Raises:
        JobCancelled: someone cancelled the job.
    """
    job = current_job.get()
    if job is not None:
        job.progress(done, total, message)


def save_artifact(filename: str, artifact: types.Part) -> int:
    """Keep a file in the session that the job belongs to; the person can download it. Returns the version, from 0.

    Raises:
        ConfigurationError: called outside of a job.
    """
    job = current_job.get()
    if job is None:
        raise ConfigurationError("save_artifact of sessions_app.jobs is for functions that run as a job.")
    return job.save_artifact(filename, artifact)

"""Functions for the code of a job: `progress`, `save_artifact`, `confirm` and `ask`."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol

from runtime import types
from runtime.errors import AdkError, ConfigurationError
from runtime.valid_text import storable
from sessions_app.jobs.questions import JobAnswer, JobQuestion


class RunningJob(Protocol):
    """Services of the running job in this context."""

    def progress(self, done: float, total: float, message: str) -> None:
        """Record the progress, or raise `JobCancelled`."""

    def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Save a file in the session and return its version."""

    def record_artifact(self, filename: str, version: int) -> None:
        """Record a file saved by the job's code."""

    def ask(self, question: JobQuestion) -> JobAnswer:
        """Return the person's answer. Raise `AnswerRequired` without an answer, `JobCancelled` after a cancel."""


current_job: ContextVar[RunningJob | None] = ContextVar("current_job", default=None)


class JobError(AdkError):
    """The job failed.

    Raise it with a sentence for the person and the model. After any other exception both learn only that the job
    failed.
    """


class JobCancelled(Exception):
    """The job was cancelled. Raised by `progress`, `confirm` and `ask`; do not catch it."""


class AnswerRequired(BaseException):
    """Ends this run of the function until the person answers.

    Derives from BaseException: nothing has failed, and `except Exception` in the function must not catch it.
    """

    def __init__(self, question: JobQuestion) -> None:
        super().__init__(question.text)
        self.question = question


def progress(done: float, total: float, message: str = "") -> None:
    """Report progress in units of your choice. The call is cheap enough for every iteration of a loop.

    With a total of 0, or an infinite number or NaN, the progress bar is indeterminate. Outside a job the call does
    nothing: the function can be called directly.

    Raises:
        JobCancelled: the job was cancelled.
    """
    job = current_job.get()
    if job is not None:
        job.progress(done, total, message)


def save_artifact(filename: str, artifact: types.Part) -> int:
    """Save a file in the session of the job, where the person can download it. Return its version, counted from 0.

    Raises:
        ConfigurationError: called outside a job.
    """
    return _require_job("save_artifact").save_artifact(filename, artifact)


def confirm(question: str) -> bool:
    """Ask the person for a yes or no; the answer may take days.

    No process waits. Without an answer this run of the function ends here; after the answer the function runs again
    from its start and this call returns the answer. Therefore ask before any work with effects, and ask the same
    questions in every run: an answer belongs to the exact text of its question.

    Raises:
        ConfigurationError: called outside a job, or the question or an option is empty.
        JobCancelled: the job was cancelled.
    """
    return _require_job("confirm").ask(JobQuestion(storable(question), "confirm")) is True


def ask(question: str, options: Sequence[str] = ()) -> str:
    """Ask the person to choose an option, or to type a text if there are no options. Works and raises as `confirm`."""
    asked = JobQuestion(storable(question), "choice" if options else "text", tuple(map(storable, options)))
    return str(_require_job("ask").ask(asked))


def _require_job(name: str) -> RunningJob:
    job = current_job.get()
    if job is None:
        raise ConfigurationError(
            f"{name}() works only inside a job. Call it from a function with @job_tool of sessions_app.jobs."
        )
    return job

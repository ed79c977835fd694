"""What a job's function may use: `progress`, `save_artifact`, `confirm` and `ask`."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol

from runtime import types
from runtime.errors import ConfigurationError
from sessions_app.codec import storable
from sessions_app.jobs.questions import Answer, Question


class Job(Protocol):
    """The job that is running."""

    def progress(self, done: float, total: float, message: str) -> None:
        """How far it is."""

    def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Keep a file; returns its version."""

    def ask(self, question: Question) -> Answer:
        """What the person answered; raises `JobAsks` when there is no answer yet."""


current_job: ContextVar[Job | None] = ContextVar("current_job", default=None)


class JobCancelled(Exception):
    """Someone wants the job to stop. Raised by `progress` and by questions; let it pass."""


class JobAsks(BaseException):
    """The job waits for a person, so this run of its function is over. No `Exception`: nothing has failed."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


def progress(done: float, total: float, message: str = "") -> None:
    """Tell how far the job is, in units of your own. Cheap: call it as often as you like.

    Without a total, 0, or with numbers that are not finite, the bar only says that the job is at work.
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
    return _job("save_artifact").save_artifact(filename, artifact)


def confirm(question: str) -> bool:
    """Ask the person for a yes or no, and wait for it, for days if need be.

    No process waits: while there is no answer, this run of the function ends here. With the answer the function is
    run again from its start, and this returns at once. So ask before doing what must not be done twice, and ask the
    same each time: an answer is to the very words of its question.

    Raises:
        ConfigurationError: called outside of a job, or the question or an option is empty.
        JobCancelled: someone cancelled the job.
    """
    return _job("confirm").ask(Question(storable(question), "confirm")) is True


def ask(question: str, options: Sequence[str] = ()) -> str:
    """As `confirm`, for one of the options, or for a text in the person's own words when there are none."""
    asked = Question(storable(question), "choice" if options else "text", tuple(map(storable, options)))
    return str(_job("ask").ask(asked))


def _job(name: str) -> Job:
    job = current_job.get()
    if job is None:
        raise ConfigurationError(f"{name} of sessions_app.jobs is for functions that run as a job.")
    return job

"""What a job asks the person, and taking the answer: once, after which the job is queued again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from runtime.errors import ConfigurationError
from sessions_app.codec import storable
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.models import JobStatus, ToolJob

Answer = bool | str


@dataclass(frozen=True)
class Question:
    """A question of a job.

    Attributes:
        kind: what answers it: yes or no, one of the `options`, or a text.

    Raises:
        ConfigurationError: the text or an option is empty.
    """

    text: str
    kind: Literal["confirm", "choice", "text"]
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(text.strip() for text in (self.text, *self.options)):
            raise ConfigurationError(
                "A job asks an empty question, or offers an empty option. Say what is meant."
            )

    def as_json(self) -> dict[str, Any]:
        """For the job's row, with the time."""
        return {**asdict(self), "options": list(self.options), "asked_at": timezone.now().isoformat()}

    def is_of(self, row: Mapping[str, Any]) -> bool:
        """Whether this is the question that the row keeps."""
        return (self.text, self.kind, list(self.options)) == (row["text"], row["kind"], row["options"])


def answer_question(job_id: UUID, number: int, answer: Answer, by: str) -> ToolJob:
    """Keep the answer and queue the job again; whoever calls has it sent.

    Args:
        number: which of the job's questions this answers, counted from 0.
        by: the name of the person.

    Raises:
        NotFoundError: there is no such job.
        ConflictError: the question was answered already, or the job has ended.
        InvalidInputError: the answer does not fit the question.
    """
    with transaction.atomic():
        job = ToolJob.objects.select_for_update().filter(pk=job_id).first()
        if job is None:
            raise NotFoundError("There is no such job in this conversation.")
        if job.is_ended:
            raise ConflictError("The job has ended; it needs no answer any more.")
        if job.question is None or number != len(job.answers):
            raise ConflictError("This was answered already.")
        given = {"answer": _fitting(job.question, answer), "by": by, "at": timezone.now().isoformat()}
        job.answers = [*job.answers, {**job.question, **given}]
        job.question, job.status, job.sent_at = None, JobStatus.QUEUED, None
        job.save(update_fields=["answers", "question", "status", "sent_at"])
    return job


def _fitting(question: Mapping[str, Any], answer: Answer) -> Answer:
    kind = question["kind"]
    if isinstance(answer, bool) != (kind == "confirm"):
        raise InvalidInputError(
            "This is answered with yes or no." if kind == "confirm" else "Answer in words."
        )
    if isinstance(answer, bool):
        return answer
    if kind == "choice" and answer not in question["options"]:
        raise InvalidInputError(f"Choose one of these: {', '.join(question['options'])}.")
    if not answer.strip() or len(answer) > conf().message_limit:
        raise InvalidInputError(f"Write an answer of 1 to {conf().message_limit} characters.")
    return storable(answer)

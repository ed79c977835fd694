"""Questions of jobs to the person. Only the first answer is accepted; it queues the job again.

No process waits for an answer: the question ends the run, and after the answer the function runs again from its start
with all answers so far (`JobReporter.ask`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from runtime.errors import ConfigurationError
from runtime.events.answer_rules import PERSON
from runtime.valid_text import storable
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.live.notices import job_notice
from sessions_app.live.process import live
from sessions_app.models import AnswerRequest, JobStatus, RequestKind, SessionAct, ToolJob
from sessions_app.models.answer_request import EFFECT_LENGTH
from sessions_app.process import celery_dispatch
from sessions_app.process.threads import in_thread
from sessions_app.rendering.outline import one_line
from sessions_app.secrets.masking import mask_text

JobAnswer = bool | str


@dataclass(frozen=True)
class JobQuestion:
    """A question of a job to the person.

    Attributes:
        kind: expected answer: yes or no, an item of `options`, or a text.

    Raises:
        ConfigurationError: the text or an option is empty.
    """

    text: str
    kind: Literal["confirm", "choice", "text"]
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(text.strip() for text in (self.text, *self.options)):
            raise ConfigurationError("A job question or one of its options is empty. Give each a text.")

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `ToolJob.question`, with the current time."""
        return {**asdict(self), "options": list(self.options), "asked_at": timezone.now().isoformat()}

    def equals(self, stored: Mapping[str, Any]) -> bool:
        """Return True if `stored`, a question of a job row, has the same text, kind and options."""
        return (self.text, self.kind, list(self.options)) == (
            stored["text"],
            stored["kind"],
            stored["options"],
        )


def record_question(job: ToolJob) -> None:
    """Store the request for the current question of the job; it replaces the request for an earlier question."""
    question = job.question or {}
    asked = {
        "invocation_id": job.invocation_id,
        "job": job,
        "kind": RequestKind.QUESTION,
        "agent_name": job.agent_name,
        "tool_name": job.tool_name,
        "effect": one_line(mask_text(question["text"]))[:EFFECT_LENGTH],
        "answered_by": PERSON,
        "asked_at": datetime.fromisoformat(question["asked_at"]),
        "escalated_at": None,
    }
    AnswerRequest.objects.update_or_create(session_id=job.session_id, call_id=job.call_id, defaults=asked)


async def answer_question(job_id: UUID, number: int, answer: JobAnswer, by: Actor, reason: str = "") -> None:
    """Store the answer, show the job in the open tabs of its session, and run it again.

    Args:
        number: index of the question among the job's questions, from 0.
        by: the actor who answers: the person, staff or the site.
        reason: recorded with the act; neither the person nor the job reads it.

    Raises:
        NotFoundError: there is no such job.
        ConflictError: the question was answered before, or the job has ended.
        InvalidInputError: the answer does not fit the question.
    """
    job = await in_thread(_store_answer, job_id, number, answer, by, reason)
    live().hub.publish_notice(job.session_id, job_notice(job))
    celery_dispatch.offer_job_in_background(job.pk, job.task_name)


def _store_answer(job_id: UUID, number: int, answer: JobAnswer, by: Actor, reason: str) -> ToolJob:
    with transaction.atomic():
        session_id = ToolJob.objects.filter(pk=job_id).values_list("session_id", flat=True).first()
        if session_id is not None:  # If the answer is refused below, its act is rolled back.
            act = Act(by, ActionKind.ANSWER, ("tooljob", str(job_id)), reason)
            SessionAct.objects.record(session_id, act)
        job = ToolJob.objects.select_for_update().filter(pk=job_id).first()
        if job is None:
            raise NotFoundError("There is no such job in this chat.")
        if job.is_ended:
            raise ConflictError("The job has ended and takes no more answers.")
        if number < len(job.answers):
            raise ConflictError(f"This was answered already by {job.answers[number]['by']}.")
        if job.question is None or number > len(job.answers):
            raise ConflictError("This question was answered already.")
        entry = {"answer": _validated(job.question, answer), "by": by.name, "at": timezone.now().isoformat()}
        job.answers = [*job.answers, {**job.question, **entry}]
        job.question = None
        job.status = JobStatus.QUEUED
        job.sent_at = None  # If the process dies now, the sweep sends the job.
        job.save(update_fields=["answers", "question", "status", "sent_at"])
        job.answer_requests.all().delete()
    return job


def _validated(question: Mapping[str, Any], answer: JobAnswer) -> JobAnswer:
    kind = question["kind"]
    if isinstance(answer, bool) != (kind == "confirm"):
        if kind == "confirm":
            raise InvalidInputError("Answer this question with yes or no.", field="answer")
        raise InvalidInputError("Answer this question with text.", field="answer")
    if isinstance(answer, bool):
        return answer
    if kind == "choice" and answer not in question["options"]:
        raise InvalidInputError(f"Choose one of these: {', '.join(question['options'])}.", field="answer")
    if not answer.strip() or len(answer) > conf().message_limit:
        raise InvalidInputError(f"Answer with 1 to {conf().message_limit} characters.", field="answer")
    return storable(answer)

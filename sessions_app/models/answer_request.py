"""AnswerRequest: a pending call, or a pending question of a job."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from runtime.events.answer_rules import PERSON, SITE, STAFF
from runtime.events.calls import TEXT_QUESTIONS
from sessions_app.base.statuses import InvocationStatus, JobStatus
from sessions_app.models.invocation import Invocation
from sessions_app.models.tool_job import ToolJob

APPROVE = "sessions_app.approve_answerrequest"
"""Permission to answer instead of the session's user."""
CALL_ID_LENGTH = 160
NAME_LENGTH = 128
EFFECT_LENGTH = 300


class RequestKind(models.TextChoices):
    """Kinds of requests, by the expected answer."""

    CONFIRMATION = "confirmation", "Approval"
    CALL = "call", "Answer to a call"
    CHOICE = "choice", "Choice"
    CREDENTIAL = "credential", "Credential"
    QUESTION = "question", "Question of a job"


def permission_to_answer(answered_by: str) -> str:
    """Return the permission staff need to answer a call; empty if staff may not answer.

    Args:
        answered_by: party with the right to answer: see `AnswerRequest`.
    """
    if answered_by == PERSON:
        return APPROVE
    if answered_by.startswith(STAFF):
        return answered_by.removeprefix(STAFF)
    return ""


class AnswerRefusal(Enum):
    """Reason why somebody may not answer."""

    IS_CREDENTIAL = auto()
    """A credential is asked for, which only the owner of the session gives."""
    SITE_ANSWERS = auto()
    """Code of the site answers."""
    FOUR_EYES = auto()
    """Staff decide, but not the owner of the session, even with the permission. The owner may withdraw by a no."""
    NO_PERMISSION = auto()
    """The member of staff lacks the permission: see `permission_to_answer`."""


def refusal_to_owner(answered_by: str, *, is_no: bool, for_site: bool) -> AnswerRefusal | None:
    """Return why the owner of the session may not answer in the chat; None if the owner may.

    Args:
        answered_by: party with the right to answer: see `AnswerRequest`.
        is_no: True for the no to a confirmation.
        for_site: True for an answer from a system trusted by the site, which may answer the site's calls, too.
    """
    if answered_by == PERSON:
        return None
    if answered_by.startswith(STAFF):
        return None if is_no else AnswerRefusal.FOUR_EYES
    return None if answered_by == SITE and for_site else AnswerRefusal.SITE_ANSWERS


def refusal_to_staff(
    answered_by: str, *, is_credential: bool, is_owner: bool, permits: Callable[[str], bool]
) -> AnswerRefusal | None:
    """Return why a member of staff may not answer; None if the member may.

    Args:
        answered_by: party with the right to answer: see `AnswerRequest`.
        is_owner: True for staff who own the session.
        permits: returns True for the permissions that the member has.
    """
    if is_credential:
        return AnswerRefusal.IS_CREDENTIAL
    if answered_by == SITE:
        return AnswerRefusal.SITE_ANSWERS
    if is_owner and answered_by != PERSON:
        return AnswerRefusal.FOUR_EYES
    permission = permission_to_answer(answered_by)
    return None if permission and permits(permission) else AnswerRefusal.NO_PERMISSION


class AnswerRequestQuerySet(models.QuerySet["AnswerRequest"]):
    def open(self) -> Self:
        """Return the requests whose call or job still waits, except in deleted sessions."""
        # A process that dies may leave the row of a request behind, so the status of the invocation or job decides.
        waiting = Invocation.objects.filter(
            invocation_id=OuterRef("invocation_id"), status=InvocationStatus.WAITING
        )
        # All waiting jobs are undelivered, and undelivered jobs have an index.
        asking = ToolJob.objects.undelivered().filter(status=JobStatus.WAITING)
        still_waits = Q(Exists(waiting), job=None) | Q(job__in=asking.values("pk"))
        return self.filter(still_waits, session__deleted_at=None)

    def yes_or_no(self) -> Self:
        """Return the requests that are answered by yes or no: `AnswerRequest.is_yes_or_no` in SQL."""
        gets_status = Q(~Q(tool_name__in=TEXT_QUESTIONS), kind=RequestKind.CALL)
        gets_status |= Q(kind=RequestKind.CONFIRMATION)
        return self.filter(gets_status | Q(job__question__kind="confirm"))


class AnswerRequest(models.Model):
    """A request for an answer, deleted with the answer. A request is open while its invocation or its job waits.

    Attributes:
        invocation_id: ADK id of the calling invocation.
        job: the asking job; None for a call without a job.
        tool_name: the called tool; for a confirmation, the tool to confirm.
        effect: effect of a yes, as a sentence in English.
        answered_by: party with the right to answer: `person`, `site` or `staff:<permission>` (contract T7, T10).
        escalated_at: time of the mail to staff about the missing answer.
    """

    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="answer_requests"
    )
    invocation_id = models.CharField(max_length=64)
    call_id = models.CharField(max_length=CALL_ID_LENGTH)
    job = models.ForeignKey(
        "sessions_app.ToolJob", on_delete=models.CASCADE, null=True, related_name="answer_requests"
    )
    kind = models.CharField(max_length=16, choices=RequestKind.choices)
    agent_name = models.CharField(max_length=NAME_LENGTH)
    tool_name = models.CharField(max_length=NAME_LENGTH)
    effect = models.CharField(max_length=EFFECT_LENGTH)
    answered_by = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    escalated_at = models.DateTimeField(null=True, blank=True)

    objects = AnswerRequestQuerySet.as_manager()

    class Meta:
        verbose_name = "request for an answer"
        verbose_name_plural = "approvals inbox"
        default_permissions = ("view",)
        permissions = [("approve_answerrequest", "Can approve calls and answer questions of jobs")]
        constraints = [models.UniqueConstraint(fields=["session", "call_id"], name="answer_request_of_call")]
        indexes = [models.Index(fields=["asked_at", "id"], name="answer_request_by_age")]

    def __str__(self) -> str:
        return f"request of {self.tool_name}"

    @property
    def gets_status(self) -> bool:
        """True if the answer is a status, which the person and the model read with its reason."""
        is_call = self.kind == RequestKind.CALL and self.tool_name not in TEXT_QUESTIONS
        return is_call or self.kind == RequestKind.CONFIRMATION

    @property
    def is_yes_or_no(self) -> bool:
        """True if the request is answered by yes or no: see `AnswerRequestQuerySet.yes_or_no`."""
        question = (self.job and self.job.question) or {}
        return self.gets_status or question.get("kind") == "confirm"

    @property
    def permission(self) -> str:
        """Permission staff need to answer; empty when staff may not answer."""
        # A credential is the person's own: nobody else may give it, whatever the tool says.
        if self.kind == RequestKind.CREDENTIAL:
            return ""
        return permission_to_answer(self.answered_by)

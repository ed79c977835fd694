"""Approvals: calls and questions that wait for the caller, in all sessions."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import JSONField
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, model_validator

from runtime.events.answer_rules import PERSON
from runtime.events.calls import CHOICE_TOOL, REQUEST_CONFIRMATION
from runtime.events.tool_confirmation import call_to_confirm, question_in
from sessions_app import use_cases
from sessions_app.api.access.callers import actor_of, caller_of
from sessions_app.api.pages import OLDEST_FIRST, Number, Page, PageQuery, RowSchema, read_page
from sessions_app.api.reachable import LARGE_OF_SESSION, reach, reachable_approval
from sessions_app.api.v1.jobs import Question
from sessions_app.base.codec import MAX_INTEGER, json_object
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.answers.form_answers import ConfirmationForm, FormAnswer, OptionForm
from sessions_app.models import AnswerRequest, RequestKind, Scope
from sessions_app.models.answer_request import AnswerRequestQuerySet

router = Router(tags=["approvals"])
CALL_ARGS = """
    SELECT part #> '{functionCall,args}'
    FROM sessions_app_event AS event,
        jsonb_path_query(event.body, '$.content.parts[*] ? (exists(@.functionCall))') AS part
    WHERE event.session_id = sessions_app_answerrequest.session_id
        AND part #>> '{functionCall,id}' = sessions_app_answerrequest.call_id
    ORDER BY event.seq DESC LIMIT 1
"""
"""Arguments of a request's call in the log. A waiting call is near its end, from which the search begins."""


class Approval(RowSchema):
    """A call, or a question of a job, that waits for an answer.

    Attributes:
        effect: what a yes lets happen, as a short sentence.
        arguments: whole arguments of the call, for a confirmation those of the call to confirm; empty for a credential.
        payload: of a confirmation, the values that its answer may change, such as those that a tool of an MCP server
            asks for; null if there are none.
        question: the question of the job; null for a call.
    """

    approval_id: int
    session_id: UUID
    session_title: str
    run_id: str
    call_id: str
    job_id: UUID | None
    kind: RequestKind
    agent: str
    tool: str
    effect: str
    arguments: dict[str, Any]
    payload: Any
    question: Question | None
    asked_at: datetime

    @classmethod
    def of(cls, row: AnswerRequest) -> "Approval":
        """Return the approval of an answer request, with its session and job."""
        return cls.from_row(
            row,
            approval_id=row.pk,
            session_title=row.session.title,
            run_id=row.invocation_id,
            agent=row.agent_name,
            tool=row.tool_name,
            arguments=arguments_of(row),
            payload=payload_of(row),
            question=Question.of(row.job) if row.job else None,
        )


def with_arguments(rows: AnswerRequestQuerySet) -> AnswerRequestQuerySet:
    """Add the arguments of the calls, for `arguments_of`."""
    arguments = RawSQL(CALL_ARGS, [], output_field=JSONField())  # noqa: S611 (no value is inserted)
    return rows.annotate(call_args=arguments)


def arguments_of(row: Any) -> dict[str, Any]:
    """Return the arguments of the call of a row of `with_arguments`."""
    if row.kind == RequestKind.CREDENTIAL:
        return {}
    args: dict[str, Any] = row.call_args or {}
    if row.kind == RequestKind.CONFIRMATION:
        return json_object(call_to_confirm(args), "args")
    return args


def payload_of(row: Any) -> Any:
    """Return the payload of the confirmation of a row of `with_arguments`; None without one."""
    if row.kind != RequestKind.CONFIRMATION:
        return None
    return question_in(row.call_args or {}).get("payload")


class CallAnswer(Schema):
    """Answer to a call: one of `response`, `confirmed` and `option`.

    Attributes:
        name: name of the called function, as a check; may be left out.
        response: the response of the function, as the agent gets it.
        confirmed: true approves the call of a confirmation, false rejects it.
        payload: whole payload of a confirmation.
        changes: values of the payload that differ from those of the question, by name, in place of the whole.
        for_session: true approves the later calls of the session, too, if the question offers that.
        option: number of the option of a choice, from 0.
    """

    kinds: ClassVar[tuple[str, ...]] = ("response", "confirmed", "option")

    name: str | None = Field(None, max_length=128)
    response: dict[str, Any] | None = Field(None, examples=[{"status": "approved"}])
    confirmed: bool | None = None
    payload: Any = None
    changes: dict[str, Any] | None = None
    for_session: bool = False
    option: int | None = Field(None, ge=0, le=MAX_INTEGER)

    @model_validator(mode="after")
    def check_kind(self) -> "CallAnswer":
        """Refuse an answer of no kind, or of several."""
        if sum(getattr(self, kind) is not None for kind in self.kinds) != 1:
            raise ValueError(f"send one of {', '.join(self.kinds)}")
        return self

    def as_response(self) -> tuple[str | None, dict[str, Any] | FormAnswer]:
        """Return the name of the function, None for any, and the response or the form to complete."""
        if self.response is not None:
            return self.name, self.response
        if self.option is not None:
            return CHOICE_TOOL, OptionForm(self.option)
        answer = ConfirmationForm(bool(self.confirmed), self.changes, self.payload, self.for_session)
        return REQUEST_CONFIRMATION, answer


class ApprovalAnswer(CallAnswer):
    """Answer to an approval: as to a call, or `answer` to a question of a job."""

    kinds: ClassVar[tuple[str, ...]] = (*CallAnswer.kinds, "answer")

    answer: bool | str | None = Field(None, union_mode="left_to_right")


@router.get("/approvals", response=Page[Approval])
async def list_approvals(request: HttpRequest, query: Query[PageQuery]) -> Page[Approval]:
    """List the calls and questions that wait for the caller, the oldest first."""
    caller = caller_of(request, Scope.READ)
    rows = AnswerRequest.objects.open().filter(reach(caller, "session__user"), answered_by=PERSON)
    # State and results may be large, and the list has none of them.
    rows = rows.select_related("session", "job").defer(*LARGE_OF_SESSION, "job__args", "job__result")
    return await read_page(Page[Approval], with_arguments(rows), OLDEST_FIRST, query, Approval.of)


@router.post("/approvals/{approval_id}/answer", response={204: None})
async def answer(request: HttpRequest, approval_id: Number, body: ApprovalAnswer) -> Status[None]:
    """Answer a call or a question that waits. The first answer counts; later ones are refused with 404 or 409."""
    waiting = await reachable_approval(caller_of(request), approval_id, Scope.ANSWER)
    by = actor_of(request, waiting.session.user)
    job = waiting.job
    if job is not None:
        if body.answer is None:
            raise InvalidInputError("This is a question of a job: send answer.", field="answer")
        await use_cases.answer_job(by, waiting.session_id, job.pk, len(job.answers), body.answer)
    else:
        if body.answer is not None:
            raise InvalidInputError("This is a call: send response, confirmed or option.", field="answer")
        name, response = body.as_response()
        await use_cases.answer_call(by, waiting.session_id, waiting.call_id, name, response)
    return Status(204, None)

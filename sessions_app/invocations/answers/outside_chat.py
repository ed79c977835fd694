"""Answers from outside of the chat: by staff in the inbox, and by the site when nobody answers in time."""

from typing import Any

from django.utils.translation import gettext_noop

from runtime.events.calls import REQUEST_INPUT, TEXT_QUESTIONS, ResponseStatus
from sessions_app.base.actors import Actor
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.answers.answering import (
    CallToAnswer,
    check_may_answer,
    find_call_to_answer,
    queue_answer,
)
from sessions_app.invocations.answers.form_answers import ConfirmationForm, OptionForm
from sessions_app.jobs.questions import JobAnswer, answer_question
from sessions_app.models import AnswerRequest, RequestKind, Session
from sessions_app.sessions.ownership import User


async def answer_request(
    request: AnswerRequest, answer: JobAnswer, *, by: Actor, reason: str, user: User | None = None
) -> None:
    """Answer the call or the question of a request; the first answer counts.

    Args:
        answer: True or False to approve or reject; an option or a text for the question of a job; a text for that of
            a workflow or a remote agent. The option of a choice is its number, from 0, as text.
        user: the member of staff, checked against the rule of the call's tool; None for an answer of the site.

    Raises:
        ConflictError: somebody else has answered; the message says who and how.
        PermissionDeniedError: the tool names somebody else.
        InvalidInputError: the question has no such answer.
        NotFoundError: the session has no such call.
    """
    if request.job is not None:
        job = request.job
        await answer_question(job.pk, len(job.answers), answer, by, reason)
        return
    call = await find_call_to_answer(request.session, request.call_id)
    response = _response(RequestKind(request.kind), call, answer, reason)
    if user is not None:
        await check_may_answer(user, request.session, call, response)
    await queue_answer(request.session, call, response, by=by, reason=reason)


async def skip_question(session: Session, call_id: str, *, by: Actor, reason: str, user: User) -> None:
    """Answer the question of a workflow's node with nothing: the node ends without an output.

    Raises: as `answer_request`.
    """
    call = await find_call_to_answer(session, call_id, name=REQUEST_INPUT)
    nothing = {"result": None}
    await check_may_answer(user, session, call, nothing)
    await queue_answer(session, call, nothing, by=by, reason=reason)


def _response(kind: RequestKind, call: CallToAnswer, answer: JobAnswer, reason: str) -> dict[str, Any]:
    # The last case is a long-running call of a project's own tool: its agent reads the status.
    if kind == RequestKind.CHOICE:
        number = int(answer) if isinstance(answer, str) and answer.isdecimal() else -1
        return OptionForm(number).response_to(call.args)
    if kind == RequestKind.CONFIRMATION:
        return ConfirmationForm(bool(answer), changes={}, reason=reason).response_to(call.args)
    if call.name in TEXT_QUESTIONS:
        return {"result": answer}
    if not isinstance(answer, bool):
        raise InvalidInputError(gettext_noop("Answer this question with yes or no."))
    status = ResponseStatus.APPROVED if answer else ResponseStatus.REJECTED
    return {"status": status.value, "reason": reason}

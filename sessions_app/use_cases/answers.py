"""Use cases about pending calls: answer them, and withdraw allowances."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.errors import NotFoundError
from sessions_app.invocations.answers.allowances import allowances_of, withdraw
from sessions_app.invocations.answers.answering import check_may_answer, find_call_to_answer, queue_answer
from sessions_app.invocations.answers.form_answers import FormAnswer
from sessions_app.invocations.state_delta import validated_delta
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.sessions.agent_access import own_usable_session
from sessions_app.sessions.ownership import User, own_session
from sessions_app.store.sql.invocation_queue import Admitted


async def answer_call(
    by: UserActor,
    session_id: UUID,
    call_id: str,
    name: str | None,
    response: dict[str, Any] | FormAnswer,
    *,
    invocation_id: str | None = None,
    state_delta: Mapping[str, Any] | None = None,
    for_site: bool = False,
) -> Admitted:
    """Answer a pending call. The first answer counts.

    Args:
        name: name of the called function; None for any.
        invocation_id: invocation that made the call; None for any.
        state_delta: state changes to commit with the answer.
        for_site: True for the key of a service, which may also answer calls reserved for code of the site.

    Raises:
        NotFoundError: the user has no such session, or the session or the invocation no such call.
        AgentClosedError: the user may not use the app.
        PermissionDeniedError: a job answers the call, or its tool lets somebody else answer.
        ConflictError: the call was answered already.
        InvalidInputError: the answer is an unreadable credential, allows more than the question offers, or names an
            unknown field or option.
    """
    session = await own_usable_session(by.user, session_id)
    call = await find_call_to_answer(session, call_id, name=name, invocation_id=invocation_id)
    if not isinstance(response, dict):
        # A form's answer is completed from the stored call: the browser need not send the arguments back.
        response = response.response_to(call.args)
    await check_may_answer(by.user, session, call, response, for_site=for_site)
    delta = await validated_delta(session.app_name, session.user_id, session.pk, state_delta)
    return await queue_answer(session, call, response, by=by, state_delta=delta)


async def answer_long_running_call(
    session: Session,
    call_id: str,
    response: dict[str, Any],
    *,
    by: User | None = None,
    address: str = "",
    reason: str = "",
) -> Admitted:
    """Answer a call in any session, from code of the site such as a webhook or a page for approvals.

    Args:
        by: the user who answers, whom the tool of the call must let answer. Without a user the site answers; it may
            answer every call except a job's.
        address: IP address of the user, for the audit.

    Returns and raises the same as `answer_call`.
    """
    call = await find_call_to_answer(session, call_id)
    actor = actors.SITE
    if by:
        await check_may_answer(by, session, call, response)
        # For the audit: somebody who answers in another user's session acts as staff.
        actor = actors.person(by, address) if by.pk == session.user_id else actors.staff(by, address)
    return await queue_answer(session, call, response, by=actor, reason=reason)


async def withdraw_allowance(by: UserActor, session_id: UUID, agent: str, tool: str) -> None:
    """Withdraw the user's allowance of a tool: the agent asks again before each call.

    Raises:
        NotFoundError: the user has no such session, or the session no such allowance.
    """
    await withdraw(await own_session(by.user, session_id), agent, tool, by)


async def withdraw_all_allowances(by: UserActor) -> None:
    """Withdraw all allowances of the user."""
    for allowance in await in_thread(allowances_of, by.user):
        with suppress(NotFoundError):  # Another tab has withdrawn it, or deleted the session.
            await withdraw_allowance(
                by, allowance.session.pk, allowance.subject.agent, allowance.subject.tool
            )

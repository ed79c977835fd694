"""Use cases about sign-ins at other services: answers to requests for a credential by OAuth.

Between the two steps the caller keeps a `PendingSignIn` with the user's login, under a digest of its state. It is
sealed with the user, the session and the call: it helps nobody else, and answers nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_schemes import ProtectedResource
from runtime.auth.auth_tool import AuthConfig, AuthToolArguments
from runtime.events.calls import REQUEST_CREDENTIAL
from runtime.tools.openapi_tool.auth.sign_in import (
    SignIn,
    begin_on_page,
    check_response,
    finish_sign_in,
)
from sessions_app.agent_apps import registry
from sessions_app.base.actors import UserActor
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, LimitExceededError, NotFoundError
from sessions_app.invocations.answers.answering import find_call_to_answer
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.models import AnswerRequest, Session
from sessions_app.models.answer_request import RequestKind
from sessions_app.process.threads import in_thread
from sessions_app.rendering.questions import is_web_address
from sessions_app.secrets.credential_encryption import decrypt, encrypt
from sessions_app.secrets.digests import digest_of
from sessions_app.sessions.agent_access import own_usable_session
from sessions_app.sessions.ownership import User
from sessions_app.store.credential_service import keep_credential, revoke, take_credential
from sessions_app.use_cases.answers import answer_call

LONGEST_SIGN_IN = timedelta(minutes=15)


class PendingSignIn(NamedTuple):
    """A sign-in that has begun, as JSON values.

    Attributes:
        sealed: the OAuth client with its secrets, encrypted.
    """

    session_id: str
    call_id: str
    sealed: str
    requires_issuer: bool


@dataclass(frozen=True)
class Begun:
    """Page of the service to go to, and what `end_sign_in` needs under the digest of the state."""

    url: str
    digest: str
    pending: PendingSignIn


async def begin_sign_in(user: User, call_id: str, redirect_uri: str) -> Begun:
    """Begin the sign-in that a call of the user waits for.

    Raises:
        NotFoundError: the user has no such question, or it was answered.
        AgentClosedError: the user may not use the app.
        ConflictError: the question was answered already.
        InvalidInputError: the question is answered in a form.
        LimitExceededError: the user has begun too many sign-ins.
        ExchangeError: the service does not offer a sign-in that is safe, or cannot be reached.
    """
    session, config = await _asked(user, call_id)
    if exceeded := rates().count(quotas.begun_sign_ins(user.pk)):
        raise LimitExceededError(
            "Too many sign-ins were begun within an hour. Try again later.", retry_seconds=exceeded.seconds
        )
    begun = await _begin(session, config, redirect_uri)
    state = begun.client.state or ""
    name = _sealed_name(user, session.pk, call_id, state)
    credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=begun.client)
    sealed = encrypt({name: credential})
    pending = PendingSignIn(str(session.pk), call_id, sealed, begun.requires_issuer)
    return Begun(begun.url, digest_of(state), pending)


async def end_sign_in(by: UserActor, pending: PendingSignIn, answer: Mapping[str, str]) -> None:
    """Exchange the code of the service's answer, keep the tokens for the user, and answer the call that waits.

    Args:
        answer: parameters with which the service has sent the browser back.

    Raises:
        NotFoundError: the sign-in took too long, or is not the user's; or the call is gone.
        AgentClosedError: the user may not use the app.
        ConflictError: the call was answered already.
        ExchangeError: the service refused, or another service has answered.
    """
    session_id, call_id, sealed, requires_issuer = pending
    name = _sealed_name(by.user, UUID(session_id), call_id, answer.get("state", ""))
    credential = decrypt(sealed, LONGEST_SIGN_IN).get(name)
    if credential is None or credential.oauth2 is None:
        raise NotFoundError("The sign-in has taken too long. Go back to the chat and begin it again.")
    client = credential.oauth2
    check_response(client, answer, requires_issuer=requires_issuer)
    session, config = await _asked(by.user, call_id)
    code = answer["code"]
    if isinstance(config.auth_scheme, ProtectedResource):
        tokens = await finish_sign_in(client, code)
        kept = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=tokens)
        config = config.model_copy(update={"exchanged_auth_credential": kept})
        await in_thread(keep_credential, session.app_name, by.user.pk, config)
        given = OAuth2Auth(access_token=tokens.access_token, expires_at=tokens.expires_at)
    else:
        # The tool has the client's secret, so it exchanges the code.
        given = OAuth2Auth(
            auth_code=code, redirect_uri=client.redirect_uri, code_verifier=client.code_verifier
        )
    response = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=given)
    body = response.model_dump(mode="json", by_alias=True, exclude_none=True)
    await answer_call(by, session.pk, call_id, REQUEST_CREDENTIAL, body)


async def revoke_sign_in(user: User, credential_id: int) -> bool:
    """Forget a kept credential, and revoke its tokens at the service; return False if they may still be valid there."""
    credential = await in_thread(take_credential, user.pk, credential_id)
    return credential is None or await revoke(credential)


async def _asked(user: User, call_id: str) -> tuple[Session, AuthConfig]:
    requests = AnswerRequest.objects.filter(
        session__user=user.pk, call_id=call_id, kind=RequestKind.CREDENTIAL
    )
    session_id = await in_thread(requests.values_list("session", flat=True).first)
    if session_id is None:
        raise NotFoundError("There is no such question, or it was answered already.")
    session = await own_usable_session(user, session_id)
    call = await find_call_to_answer(session, call_id, name=REQUEST_CREDENTIAL)
    return session, AuthToolArguments.model_validate(call.args).auth_config


async def _begin(session: Session, config: AuthConfig, redirect_uri: str) -> SignIn:
    if isinstance(config.auth_scheme, ProtectedResource):
        await in_thread(registry.get_app, session.app_name)  # loads the toolset, which offers the resource
        # Only now: the package `mcp` is optional.
        from runtime.tools.mcp_tool.sign_in import begin_sign_in as begin_at_resource

        return await begin_at_resource(config, redirect_uri, conf().site_name)
    raw = config.raw_auth_credential
    if raw is None or raw.oauth2 is None or not raw.oauth2.auth_uri:
        raise InvalidInputError("This question has no sign-in. Answer it in its form.")
    if not is_web_address(raw.oauth2.auth_uri):
        raise InvalidInputError(
            "The page of this sign-in has no address that can be opened. Tell those who made the agent."
        )
    return begin_on_page(raw.oauth2, redirect_uri)


def _sealed_name(user: User, session_id: UUID, call_id: str, state: str) -> str:
    return "\n".join([str(user.pk), str(session_id), call_id, state])

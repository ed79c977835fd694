"""Credential service on PostgreSQL, encrypted (contract T8)."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from contextvars import Context
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import (
    AuthScheme,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
    ProtectedResource,
)
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.credential_service.base_credential_service import (
    BaseCredentialService,
    CredentialContext,
    Renew,
)
from runtime.tools.openapi_tool.auth.oauth_exchange import revoke_token
from runtime.tools.openapi_tool.auth.sign_in import sign_in_exchange
from runtime.tools.openapi_tool.http_exchange import ExchangeError
from sessions_app.base.codec import user_pk
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.models import SavedCredential
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from sessions_app.secrets.credential_encryption import decrypt, encrypt
from sessions_app.secrets.digests import digest_of

logger = logging.getLogger(__name__)
RENEWAL_SECONDS = 60.0
"""Longest wait for a renewal; the requests in it have shorter limits of their own."""
Owner = tuple[str, Any, str]
"""App name, primary key of the user, credential key."""


class DjangoCredentialService(BaseCredentialService):
    """Keeps a credential for `saved_credential_days` after it was saved, but no longer than the person's account."""

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext
    ) -> AuthCredential | None:
        """Return the stored credential of the context's user; None if there is none or it is too old."""
        return await in_thread(_load, _owner(auth_config, callback_context))

    async def save_credential(self, auth_config: AuthConfig, callback_context: CredentialContext) -> None:
        """Store the config's `exchanged_auth_credential`; if it is None, delete the stored credential.

        Raises:
            NotFoundError: the user was deleted in the meantime.
        """
        user = user_pk(callback_context.user_id)
        await in_thread(keep_credential, callback_context.app_name, user, auth_config)

    async def renew_credential(
        self, auth_config: AuthConfig, callback_context: CredentialContext, renew: Renew
    ) -> AuthCredential | None:
        """Replace the stored credential by its successor, in one process at a time, and return that."""
        owner = _owner(auth_config, callback_context)
        return await in_thread(_renew, owner, renew, asyncio.get_running_loop())


def delete_old_credentials() -> int:
    """Delete credentials older than `saved_credential_days`; return their number."""
    deleted, _ = SavedCredential.objects.filter(saved_at__lt=timezone.now() - _max_age()).delete()
    return deleted


def keep_credential(app_name: str, user: Any, auth_config: AuthConfig) -> None:
    """Store the config's `exchanged_auth_credential` for a user; if it is None, delete the stored credential.

    Raises:
        NotFoundError: the user was deleted in the meantime.
    """
    owner = (app_name, user, auth_config.credential_key)
    credential = auth_config.exchanged_auth_credential
    if credential is None:
        _rows_of(owner).delete()
    else:
        _save(owner, credential, _service_of(auth_config.auth_scheme))


def take_credential(user: Any, credential_pk: int) -> AuthCredential | None:
    """Delete the user's stored credential with this primary key; return it if there was one that can be read."""
    with transaction.atomic():
        row = SavedCredential.objects.select_for_update().filter(pk=credential_pk, user=user).first()
        if row is None:
            return None
        row.delete()
    return next(iter(decrypt(row.encrypted, _max_age()).values()), None)


async def revoke(credential: AuthCredential) -> bool:
    """Revoke the credential's tokens at their service; return False if they may still be valid there."""
    tokens = credential.oauth2
    if tokens is None:
        return True
    try:
        return await revoke_token(tokens, sign_in_exchange(tokens.resource or ""))
    except ExchangeError as error:
        logger.warning("Tokens of a deleted credential were not revoked: %s", error)
        return False


def revoke_after_commit(user: Any) -> None:
    """Revoke the tokens of all stored credentials of a user when the transaction that deletes them is committed."""
    credentials: list[AuthCredential] = []
    # Locked: a renewal under way would store a new token after this reading.
    rows = SavedCredential.objects.select_for_update().filter(user=user)
    for encrypted in rows.values_list("encrypted", flat=True):
        credentials += decrypt(encrypted, _max_age()).values()
    if credentials:
        # `robust`: the rows are gone, whatever the services answer.
        transaction.on_commit(lambda: threads.run(_revoke_all(credentials)), robust=True)


async def _revoke_all(credentials: Iterable[AuthCredential]) -> None:
    await asyncio.gather(*map(revoke, credentials))


def _owner(auth_config: AuthConfig, context: CredentialContext) -> Owner:
    return (context.app_name, user_pk(context.user_id), auth_config.credential_key)


def _rows_of(owner: Owner) -> QuerySet[SavedCredential]:
    app_name, user, key = owner
    return SavedCredential.objects.filter(app_name=app_name, user_id=user, key=digest_of(key))


def _load(owner: Owner) -> AuthCredential | None:
    encrypted = _rows_of(owner).values_list("encrypted", flat=True).first() or ""
    return decrypt(encrypted, _max_age()).get(_sealed_name(owner))


def _renew(owner: Owner, renew: Renew, loop: asyncio.AbstractEventLoop) -> AuthCredential | None:
    """Renew a credential while its row is locked: a refresh token can be used once.

    The request goes on when the caller is cancelled, because the new token would be lost otherwise.
    """
    with transaction.atomic():
        row = _rows_of(owner).select_for_update().first()
        if row is None:
            return None
        stored = decrypt(row.encrypted, _max_age()).get(_sealed_name(owner))
        renewed = None
        if stored:
            future = Context().run(asyncio.run_coroutine_threadsafe, _awaited(renew(stored)), loop)
            renewed = future.result(RENEWAL_SECONDS)
        if renewed is None:
            row.delete()
        elif renewed != stored:
            row.encrypted = encrypt({_sealed_name(owner): renewed})
            row.saved_at = timezone.now()
            row.save(update_fields=["encrypted", "saved_at"])
    return renewed


async def _awaited(renewal: Awaitable[AuthCredential | None]) -> AuthCredential | None:
    return await renewal


def _service_of(scheme: AuthScheme) -> str:
    """Return the host of the service, as its user knows it."""
    match scheme:
        case ProtectedResource(resource=url):
            address = url
        case OAuth2(flows=flows):
            flow = flows.authorization_code or flows.client_credentials
            address = (flow and (flow.authorization_url or flow.token_url)) or ""
        case OpenIdConnect(open_id_connect_url=url) | OpenIdConnectWithConfig(authorization_endpoint=url):
            address = url
        case _:
            address = ""
    return urlsplit(address).netloc.rpartition("@")[2][:200]


def _save(owner: Owner, credential: AuthCredential, service: str) -> None:
    app_name, user, key = owner
    values = {
        "encrypted": encrypt({_sealed_name(owner): credential}),
        "saved_at": timezone.now(),
        "service": service,
    }
    names = {"app_name": app_name, "user_id": user, "key": digest_of(key)}
    try:
        with transaction.atomic():
            SavedCredential.objects.update_or_create(values, **names)
    except IntegrityError as error:
        raise NotFoundError(f"There is no user '{user}' to save a credential for.") from error


def _sealed_name(owner: Owner) -> str:
    # The name is part of the ciphertext: a value copied to another person's row does not decrypt to a credential.
    return "\n".join(map(str, owner))


def _max_age() -> timedelta:
    return timedelta(days=conf().saved_credential_days)

"""Credential service on PostgreSQL, encrypted (contract T8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_tool import AuthConfig
from runtime.auth.credential_service.base_credential_service import BaseCredentialService, CredentialContext
from sessions_app.base.codec import user_pk
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.models import SavedCredential
from sessions_app.process.threads import in_thread
from sessions_app.secrets.credential_encryption import decrypt, encrypt
from sessions_app.secrets.digests import digest_of

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
        owner = _owner(auth_config, callback_context)
        credential = auth_config.exchanged_auth_credential
        if credential is None:
            await in_thread(_rows_of(owner).delete)
        else:
            await in_thread(_save, owner, credential)


def delete_old_credentials() -> int:
    """Delete credentials older than `saved_credential_days`; return their number."""
    deleted, _ = SavedCredential.objects.filter(saved_at__lt=timezone.now() - _max_age()).delete()
    return deleted


def forget_credential(user: Any, credential_pk: int) -> None:
    """Delete the user's stored credential with this primary key, if there is one."""
    SavedCredential.objects.filter(pk=credential_pk, user=user.pk).delete()


def _owner(auth_config: AuthConfig, context: CredentialContext) -> Owner:
    return (context.app_name, user_pk(context.user_id), auth_config.credential_key)


def _rows_of(owner: Owner) -> QuerySet[SavedCredential]:
    app_name, user, key = owner
    return SavedCredential.objects.filter(app_name=app_name, user_id=user, key=digest_of(key))


def _load(owner: Owner) -> AuthCredential | None:
    encrypted = _rows_of(owner).values_list("encrypted", flat=True).first() or ""
    return decrypt(encrypted, _max_age()).get(_sealed_name(owner))


def _save(owner: Owner, credential: AuthCredential) -> None:
    app_name, user, key = owner
    values = {"encrypted": encrypt({_sealed_name(owner): credential}), "saved_at": timezone.now()}
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

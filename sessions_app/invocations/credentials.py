"""Credentials of queued and running invocations, encrypted: another process may have to resume with them.

They leave the row at the end of the invocation, and at the latest after `ADK["credential_seconds"]`.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Mapping
from datetime import timedelta

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils import timezone
from django.utils.encoding import force_bytes
from pydantic import TypeAdapter, ValidationError

from runtime.auth.auth_credential import AuthCredential
from sessions_app.conf import conf
from sessions_app.models import Invocation

logger = logging.getLogger(__name__)
_PURPOSE = b"sessions_app.invocations.credentials:"
_BY_KEY = TypeAdapter(dict[str, AuthCredential])


def encrypt(credentials: Mapping[str, AuthCredential]) -> str:
    """Return the credentials as an encrypted text; an empty text when there are none."""
    if not credentials:
        return ""
    return _fernet().encrypt(_BY_KEY.dump_json(dict(credentials), exclude_none=True)).decode()


def decrypt(encrypted: str) -> dict[str, AuthCredential]:
    """Return the credentials. None of them when they are too old, or encrypted with an unknown key."""
    if not encrypted:
        return {}
    try:
        return _BY_KEY.validate_json(_fernet().decrypt(encrypted, ttl=int(conf().credential_seconds)))
    except (InvalidToken, ValidationError):  # Not logged: a validation error quotes the credential.
        logger.warning("Credentials are too old or encrypted with another key; the tool asks for them again")
        return {}


def delete_expired_credentials() -> None:
    """Delete credentials that have been kept for too long; a tool that still needs one asks for it again."""
    oldest = timezone.now() - timedelta(seconds=conf().credential_seconds)
    Invocation.objects.exclude(credentials="").filter(created_at__lt=oldest).update(credentials="")


def _fernet() -> MultiFernet:
    keys_of_site: list[str | bytes] = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    secrets = conf().credential_keys or keys_of_site
    return MultiFernet([Fernet(_key(force_bytes(secret))) for secret in secrets])


def _key(secret: bytes) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(_PURPOSE + secret).digest())

"""Encryption of stored credentials, with keys derived from `ADK["credential_keys"]`, or from Django's secret keys.

The first key encrypts and all keys decrypt, so a site can change its key without losing credentials.
"""

import base64
import hashlib
import logging
from collections.abc import Mapping
from datetime import timedelta

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.encoding import force_bytes
from pydantic import TypeAdapter, ValidationError

from runtime.auth.auth_credential import AuthCredential
from sessions_app.conf import conf

logger = logging.getLogger(__name__)
_PURPOSE = b"sessions_app.invocations.credentials:"  # stored credentials cannot be read after a change
_BY_KEY = TypeAdapter(dict[str, AuthCredential])


def encrypt(credentials: Mapping[str, AuthCredential]) -> str:
    """Return the credentials as an encrypted text; an empty text when there are none."""
    if not credentials:
        return ""
    return _fernet().encrypt(_BY_KEY.dump_json(dict(credentials), exclude_none=True)).decode()


def decrypt(encrypted: str, longest: timedelta) -> dict[str, AuthCredential]:
    """Return the credentials; empty when they are older than `longest`, or encrypted with an unknown key."""
    if not encrypted:
        return {}
    try:
        return _BY_KEY.validate_json(_fernet().decrypt(encrypted, ttl=int(longest.total_seconds())))
    except (InvalidToken, ValidationError):  # Not logged: a validation error quotes the credential.
        logger.warning("Credentials are too old or encrypted with another key; the tool asks for them again")
        return {}


def encrypt_text(text: str) -> str:
    """Return a secret of the site, such as the secret of a webhook, as an encrypted text."""
    return _fernet().encrypt(text.encode()).decode()


def decrypt_text(encrypted: str) -> str:
    """Return a secret from its `encrypt_text`.

    Raises:
        InvalidToken: the secret was encrypted with an unknown key.
    """
    return _fernet().decrypt(encrypted).decode()


def _fernet() -> MultiFernet:
    keys_of_site: list[str | bytes] = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    secrets = conf().credential_keys or keys_of_site
    return MultiFernet([Fernet(_key(force_bytes(secret))) for secret in secrets])


def _key(secret: bytes) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(_PURPOSE + secret).digest())

"""Credentials of queued and running invocations, stored since another process may have to resume with them.

They are deleted from the row at the end of the invocation, and at the latest after `ADK["credential_seconds"]`.
"""

from datetime import timedelta

from django.utils import timezone

from runtime.auth.auth_credential import AuthCredential
from sessions_app.conf import conf
from sessions_app.models import Invocation
from sessions_app.secrets import credential_encryption


def decrypt(encrypted: str) -> dict[str, AuthCredential]:
    """Return the credentials of an invocation; empty when they are too old, or encrypted with an unknown key."""
    return credential_encryption.decrypt(encrypted, _max_age())


def delete_expired_credentials() -> None:
    """Delete credentials older than `credential_seconds`. A tool that needs a deleted credential asks again."""
    oldest = timezone.now() - _max_age()
    Invocation.objects.exclude(credentials="").filter(created_at__lt=oldest).update(credentials="")


def _max_age() -> timedelta:
    return timedelta(seconds=conf().credential_seconds)

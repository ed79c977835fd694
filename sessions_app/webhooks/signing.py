"""Signatures of deliveries by the Standard Webhooks specification (https://www.standardwebhooks.com)."""

import binascii
import hmac
import secrets
from base64 import b64decode, b64encode

SECRET_PREFIX = "whsec_"  # noqa: S105 - the prefix by the specification
SECRET_BYTES = 32
USABLE_BYTES = range(24, 65)
"""Lengths in bytes that the specification allows for secrets."""


def new_secret() -> str:
    """Return a new secret as text, as the receiver stores it."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_secret(text: str) -> bool:
    """True if the text has the prefix and a length allowed by the specification."""
    try:
        key = b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        return False
    return text.startswith(SECRET_PREFIX) and len(key) in USABLE_BYTES


def sign_delivery(secret: str, message_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers with id, time and signature of a delivery.

    Args:
        seconds: time of the attempt, in seconds since 1970.
    """
    # Id and time are part of the signed text, so nobody can send an old body again under a new id.
    signed = f"{message_id}.{seconds}.".encode() + body
    digest = hmac.digest(b64decode(secret.removeprefix(SECRET_PREFIX)), signed, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }

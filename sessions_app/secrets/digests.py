"""Digests in place of secrets, and ids that only this site can make."""

from hashlib import sha256
from uuid import UUID

from django.utils.crypto import salted_hmac


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in 64 hexadecimal digits, to store or send in place of a secret or a long text."""
    # The secrets are long and random, so their digests need no salt and no slow hash. `surrogatepass`: a text from a
    # header or from an agent may have lone surrogates.
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unguessable_id(purpose: str, words: str) -> UUID:
    """Return an id made from the words: the same each time, so a repeated request finds the rows of the first."""
    # Keyed with the site's secret: nobody can foresee the id of another user's row and take it first.
    return UUID(bytes=salted_hmac(purpose, words, algorithm="sha256").digest()[:16], version=4)

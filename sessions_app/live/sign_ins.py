"""SignIns: closes sockets and streams whose sign-in or API key has ended.

A sign-in ends when the person signs out, is deactivated or changes the password.
A sign-in is checked when the process hears of a change, and on every heartbeat. While PostgreSQL is slow these checks
are late: a frame that comes more than two heartbeats after the last check waits for another check.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from sessions_app.conf import conf
from sessions_app.models import ApiKey
from sessions_app.models.api_key import users_of_keys
from sessions_app.process.threads import in_thread, wait_until_set
from sessions_app.secrets.digests import digest_of


@dataclass(frozen=True)
class SiteSignIn:
    """A person's sign-in in a browser, or an API key acting for a person.

    Attributes:
        user_id: the signed-in person, or the person for whom the key acts.
        auth_hash: Django's hash of the password, which changes with the password. Empty for a key.
        session_key: key of Django's session; empty for a person signed in without a session.
        key: the API key; None for a sign-in.
    """

    user_id: Any
    auth_hash: str
    session_key: str
    key: ApiKey | None = None

    @classmethod
    def of_scope(cls, scope: Mapping[str, Any]) -> "SiteSignIn":
        """Return the sign-in of the ASGI scope of a socket or a stream."""
        user = scope["user"]
        session = scope.get("session")
        session_key = session.session_key if session else None
        return cls(user.pk, user.get_session_auth_hash(), session_key or "")

    @classmethod
    def of_key(cls, key: ApiKey, user_id: Any) -> "SiteSignIn":
        """Return the key as the sign-in of its person, or of another person for whom it acts."""
        return cls(user_id, "", "", key)

    def concerns(self, user_id: str) -> bool:
        """Return True if a change of the person's account may end the sign-in."""
        if self.key is not None and user_id == str(self.key.user_id):
            return True
        return user_id == str(self.user_id)


class SignIns:
    """Sign-ins of the open sockets of an event loop."""

    def __init__(self) -> None:
        self._ends: dict[SiteSignIn, tuple[Callable[[], None], ...]] = {}
        self._checked_at: dict[SiteSignIn, float] = {}
        self._is_check_requested = asyncio.Event()

    def watch(self, sign_in: SiteSignIn, end: Callable[[], None]) -> None:
        """Call `end` once when the sign-in, which is valid now, has ended."""
        self._ends[sign_in] = (*self._ends.get(sign_in, ()), end)
        self._checked_at[sign_in] = time.monotonic()

    def unwatch(self, sign_in: SiteSignIn, end: Callable[[], None]) -> None:
        """Stop watching. Idempotent."""
        ends = self._ends.get(sign_in)
        if ends is None:
            return
        remaining = tuple(other for other in ends if other != end)
        if remaining:
            self._ends[sign_in] = remaining
        else:
            self._forget(sign_in)

    def end_session(self, session_digest: str) -> None:
        """End the sign-in whose Django session has the digest: its person has signed out."""
        for sign_in in list(self._ends):
            if sign_in.session_key and digest_of(sign_in.session_key) == session_digest:
                self._end(sign_in)

    def request_check(self, user_id: str) -> None:
        """Request a check of all sign-ins, if a change of the person's account may end any of them."""
        if any(sign_in.concerns(user_id) for sign_in in self._ends):
            self._is_check_requested.set()

    async def check_requested(self, seconds: float) -> None:
        """Wait up to `seconds` until a check is requested."""
        await wait_until_set(self._is_check_requested, seconds)
        self._is_check_requested.clear()

    async def check_all(self) -> None:
        """Check all sign-ins, and end invalid sign-ins."""
        await self._check(list(self._ends))

    async def is_valid(self, sign_in: SiteSignIn) -> bool:
        """Return True if the sign-in is watched and has not ended. Check it first if the last check is long ago."""
        checked_at = self._checked_at.get(sign_in)
        if checked_at is not None and time.monotonic() - checked_at > 2 * conf().heartbeat_seconds:
            await self._check([sign_in])
        return sign_in in self._ends

    async def _check(self, sign_ins: Collection[SiteSignIn]) -> None:
        if not sign_ins:
            return
        # From before the query: a change during the query may be missing in its result.
        now = time.monotonic()
        valid = await in_thread(_find_valid_sign_ins, sign_ins)
        for sign_in in sign_ins:
            if sign_in not in valid:
                self._end(sign_in)
            elif sign_in in self._ends:
                self._checked_at[sign_in] = now

    def _end(self, sign_in: SiteSignIn) -> None:
        ends = self._ends.get(sign_in, ())
        self._forget(sign_in)
        for end in ends:
            end()

    def _forget(self, sign_in: SiteSignIn) -> None:
        self._ends.pop(sign_in, None)
        self._checked_at.pop(sign_in, None)


def _find_valid_sign_ins(sign_ins: Collection[SiteSignIn]) -> set[SiteSignIn]:
    # One query for the people, one for Django's sessions and at most two for API keys, whatever the number of sign-ins.
    with_keys = [sign_in for sign_in in sign_ins if sign_in.key is not None]
    in_browsers = [sign_in for sign_in in sign_ins if sign_in.key is None]
    return _find_valid_in_browsers(in_browsers) | _find_valid_with_keys(with_keys)


def _find_valid_in_browsers(sign_ins: Sequence[SiteSignIn]) -> set[SiteSignIn]:
    if not sign_ins:
        return set()
    people = get_user_model()._default_manager.in_bulk({sign_in.user_id for sign_in in sign_ins})
    hashes = {pk: person.get_session_auth_hash() for pk, person in people.items() if person.is_active}
    open_keys = _open_session_keys({sign_in.session_key for sign_in in sign_ins})
    valid = set()
    for sign_in in sign_ins:
        if hashes.get(sign_in.user_id) == sign_in.auth_hash and sign_in.session_key in open_keys:
            valid.add(sign_in)
    return valid


def _find_valid_with_keys(sign_ins: Sequence[SiteSignIn]) -> set[SiteSignIn]:
    """Return the sign-ins whose key is in force and acts for the person."""
    keys = {sign_in.key.pk: sign_in.key for sign_in in sign_ins if sign_in.key}
    if not keys:
        return set()
    owners = dict(ApiKey.objects.active().filter(pk__in=keys).values_list("pk", "user_id"))
    groups = {key.people_id for key in keys.values() if key.people_id}
    members: set[tuple[int, Any]] = set()
    if groups:
        people = users_of_keys(groups).filter(pk__in={sign_in.user_id for sign_in in sign_ins})
        members = set(people.values_list("groups", "pk"))
    valid = set()
    for sign_in in sign_ins:
        key = sign_in.key
        if key and key.pk in owners:
            is_owner = owners[key.pk] == sign_in.user_id
            if is_owner or (key.people_id, sign_in.user_id) in members:
                valid.add(sign_in)
    return valid


def _open_session_keys(keys: set[str]) -> set[str]:
    """Return the keys of sessions in force, and the empty key."""
    # Sessions that Django keeps outside of the database (signed cookies, a cache) cannot be looked up.
    if not _has_session_table():
        return keys
    rows = SessionStore.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {"", *rows.values_list("session_key", flat=True)}


@lru_cache(maxsize=1)
def _has_session_table() -> bool:
    engine = import_module(settings.SESSION_ENGINE)
    return issubclass(engine.SessionStore, SessionStore)

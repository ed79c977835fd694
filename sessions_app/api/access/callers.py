"""Callers of the API, and what they may do.

A signed-in user may do everything with own sessions. An API key acts for its user within its scopes; the key of a
service also acts for the users of a group. Each request counts towards the rate of the caller.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import DataError
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.base.client_address import client_address, client_network
from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError, NotFoundError, PermissionDeniedError
from sessions_app.history.telemetry.trace_contexts import is_traceparent
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.models import ApiKey, Scope
from sessions_app.models.api_key import users_of_keys
from sessions_app.process.threads import in_thread
from sessions_app.secrets.digests import digest_of

Source = HttpRequest | Mapping[str, Any]
LAST_USE_PRECISION = timedelta(minutes=1)
"""Precision of `ApiKey.last_used_at`. With it most requests only read the row of the key."""


@dataclass(frozen=True)
class Caller:
    """Authenticated caller: a signed-in user, or an API key and its owner.

    Attributes:
        key: the API key; None for a signed-in user, who needs no scopes.
        address: IP address of the client, for the records of acts.
        network: network of the address, for quotas.
        traceparent: trace context of the request; empty without one, and when the site exports no spans.
    """

    user: AbstractBaseUser
    key: ApiKey | None
    address: str
    network: str
    traceparent: str = ""

    @classmethod
    def of(cls, user: AbstractBaseUser, key: ApiKey | None, source: Source) -> "Caller":
        return cls(user, key, client_address(source), client_network(source), _traceparent_of(source))

    def in_trace(self, traceparent: object) -> "Caller":
        """Return the caller with the trace context of a request that has it elsewhere than in its headers."""
        found = _usable(traceparent)
        return replace(self, traceparent=found) if found else self

    @property
    def is_service(self) -> bool:
        """True for a key that acts for the users of a group. Only staff, or another such key, can make it."""
        return self.key is not None and self.key.people_id is not None

    def require(self, scope: Scope) -> None:
        """Raise a PermissionDeniedError if the key lacks the scope."""
        if self.key is not None and scope not in self.key.scopes:
            raise PermissionDeniedError(f"The key lacks the scope “{scope.value}”. Make a key that has it.")

    def actor_for(self, user: AbstractBaseUser) -> UserActor:
        """Return the actor for acts of the request in the name of `user`."""
        if self.key is None:
            actor = actors.person(user, self.address)
        else:
            actor = actors.api_key(user, str(self.key.pk), self.key.name, self.address)
        is_for_another = self.is_service and user.pk != self.user.pk
        return replace(actor, traceparent=self.traceparent, is_service=is_for_another)

    async def acting_for(self, user_id: str) -> AbstractBaseUser:
        """Return the user for whom a request acts: the caller's own user, or a user of the key's group.

        Args:
            user_id: name or primary key of the user.

        Raises:
            NotFoundError: there is no such user, the caller may not act for the user, or `user_id` is the name of one
                user and the primary key of another.
        """
        found = set[AbstractBaseUser]()
        if user_id in (str(self.user.pk), self.user.get_username()):
            found.add(self.user)
        if self.key is not None and self.key.people_id is not None:
            found |= await in_thread(_members, self.key.people_id, user_id)
        if not found:
            raise NotFoundError("There is no such person here, or the key does not act for this person.")
        if len(found) > 1:
            raise NotFoundError(
                "This is the name of one person and the primary key of another. Send the other of the two."
            )
        return found.pop()


def caller_of(request: HttpRequest, *scopes: Scope) -> Caller:
    """Return the caller of a request, within an operation.

    Raises:
        PermissionDeniedError: the caller's key lacks one of the scopes.
    """
    caller = cast(Caller, request.auth)  # type: ignore[attr-defined]  # django-ninja sets it
    for scope in scopes:
        caller.require(scope)
    return caller


def actor_of(request: HttpRequest, user: AbstractBaseUser) -> UserActor:
    """Return the actor for acts of a request in the name of `user`."""
    return caller_of(request).actor_for(user)


def person_calling(user: AbstractBaseUser, source: Source) -> Caller:
    """Return the caller for a signed-in user, and count the request.

    Raises:
        LimitExceededError: the user or the network has sent too many requests.
    """
    return _count_request(Caller.of(user, None, source))


async def key_calling(key: str, source: Source) -> Caller | None:
    """Return the caller for an API key, and count the request; None if the key is unknown, expired or revoked.

    Raises:
        LimitExceededError: too many requests were sent with the key, for its user, or from the network.
    """
    row = await in_thread(key_in_force, key)
    if row is None:
        return None
    return _count_request(Caller.of(row.user, row, source))


def key_in_force(key: str) -> ApiKey | None:
    """Return the row of a valid key, with its user, and update `last_used_at`; None for other keys."""
    # By digest: the text of a key is not stored.
    row = ApiKey.objects.active().select_related("user").filter(digest=digest_of(key)).first()
    if row is None:
        return None
    noted_before = timezone.now() - LAST_USE_PRECISION
    if row.last_used_at is None or row.last_used_at < noted_before:
        # Repeat the condition in the statement: of several requests at the same time, only one writes the row.
        not_noted = Q(last_used_at=None) | Q(last_used_at__lt=noted_before)
        ApiKey.objects.filter(not_noted, pk=row.pk).update(last_used_at=Now())
    return row


def _traceparent_of(source: Source) -> str:
    if isinstance(source, HttpRequest):
        return _usable(source.headers.get("traceparent"))
    return _usable(dict(source["headers"]).get(b"traceparent", b"").decode("latin-1"))


def _usable(traceparent: object) -> str:
    """Return a trace context that the site can continue; empty for anything else."""
    is_usable = isinstance(traceparent, str) and is_traceparent(traceparent) and conf().otlp_endpoint
    return str(traceparent) if is_usable else ""


def _count_request(caller: Caller) -> Caller:
    """Count a request and return the caller; raise LimitExceededError above a limit."""
    if exceeded := rates().count(_quotas(caller)):
        raise LimitExceededError(
            f"Requests are limited to {exceeded.quota.most} a minute. Wait a minute.",
            retry_seconds=exceeded.seconds,
        )
    return caller


def _quotas(caller: Caller) -> list[quotas.Quota]:
    # A service acts for many users, so its own rate replaces the rate of its user. The rate of a user's key is an
    # additional limit: otherwise users could raise their limit by making keys.
    key = caller.key
    of_person = quotas.frames(caller.user.pk, caller.network)
    if key is None or not key.requests_per_minute:
        return of_person
    others = of_person
    if key.is_of_service:
        others = quotas.frames_of_address(caller.network)
    return [*others, quotas.requests(key.pk, key.requests_per_minute)]


def _members(group_id: int, user_id: str) -> set[AbstractBaseUser]:
    """Return the users of a group with this name or this primary key."""
    people = users_of_keys([group_id])
    found = set[AbstractBaseUser]()
    for field in (get_user_model().USERNAME_FIELD, "pk"):
        with suppress(ValueError, ValidationError, DataError):  # neither a name nor a primary key
            found.update(people.filter(**{field: user_id}))
    return found

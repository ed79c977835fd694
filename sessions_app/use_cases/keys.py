"""Making and revoking of API keys.

Users make their own keys, staff make keys of services, and a key may make further keys. A key never makes a key that
may do more than itself, and revoking a key revokes all keys that it has made: otherwise a stolen key would outlive its
revocation.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from runtime.valid_text import storable
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.errors import InvalidInputError, LimitExceededError, NotFoundError, PermissionDeniedError
from sessions_app.models import AccountAct, ApiKey, Scope
from sessions_app.models.api_key import NAME_LENGTH, ApiKeyQuerySet

MAX_KEYS = 50
"""Maximum number of valid keys of a user."""


@dataclass(frozen=True)
class KeyProperties:
    """Properties of a new key; see `ApiKey`.

    Attributes:
        people_id: primary key of the group of users for whom the key acts, besides its own user; None for no group.
    """

    name: str
    scopes: tuple[Scope, ...]
    expires_at: datetime | None = None
    requests_per_minute: int = 0
    tokens_per_day: int = 0
    people_id: int | None = None


def make_key(
    user: Any,
    properties: KeyProperties,
    by: Actor,
    maker: ApiKey | None = None,
    *,
    key_id: UUID | None = None,
) -> tuple[ApiKey, str]:
    """Make a key of the user and record the act. Return the row, and the text of the key, which is not stored.

    Args:
        maker: the API key that makes the request; None for users and staff.
        key_id: id for the row of a request that may be repeated. An existing row with this id gets a new text.

    Raises:
        InvalidInputError: a property is not valid.
        LimitExceededError: the user has `MAX_KEYS` keys already.
        PermissionDeniedError: the new key would be allowed more than its maker, or the maker has ended.
    """
    name = _checked_name(properties)
    if maker is not None:
        _check_within(maker, properties)
    with transaction.atomic():
        _lock_keys(user.pk)
        # Checked again under the lock: `revoke_key` would miss a key that is made while its maker is revoked.
        if maker is not None and not ApiKey.objects.active().filter(pk=maker.pk).exists():
            raise PermissionDeniedError("The key has ended meanwhile, so it makes none. Use another key.")
        if key_id and (made := ApiKey.objects.filter(pk=key_id).first()):
            # The first request got no response, so nobody has seen its key.
            key = made.take_new_key()
            made.save(update_fields=["prefix", "digest"])
            return made, key
        if ApiKey.objects.active().filter(user_id=user.pk).count() >= MAX_KEYS:
            raise LimitExceededError(f"There are {MAX_KEYS} keys already. Revoke one that is not used.")
        row, key = ApiKey.objects.all().make(
            pk=key_id or uuid4(),
            user_id=user.pk,
            people_id=properties.people_id,
            made_by=maker,
            name=name,
            scopes=[scope.value for scope in Scope if scope in properties.scopes],
            expires_at=properties.expires_at,
            requests_per_minute=properties.requests_per_minute,
            tokens_per_day=properties.tokens_per_day,
        )
        AccountAct.objects.record(user.pk, Act(by, ActionKind.ADD, ("apikey", str(row.pk))))
    return row, key


def revoke_key(keys: ApiKeyQuerySet, key_id: Any, by: Actor, reason: str = "") -> None:
    """Revoke a key and all keys made with it. Idempotent.

    The caller has to publish the change of the account, which ends the open streams of the keys.

    Args:
        keys: the keys that the caller may revoke.

    Raises:
        NotFoundError: `keys` has no key with this id.
    """
    key = keys.filter(pk=key_id).first()
    if key is None:
        raise NotFoundError("There is no such key here.")
    with transaction.atomic():
        _lock_keys(key.user_id)
        for revoked in _with_made(key):
            if ApiKey.objects.filter(pk=revoked.pk, revoked_at=None).update(
                revoked_at=Now(), revoked_by_name=by.name
            ):
                act = Act(by, ActionKind.REVOKE, ("apikey", str(revoked.pk)), reason)
                AccountAct.objects.record(revoked.user_id, act)


def _lock_keys(user_pk: Any) -> None:
    """Serialize the transactions that count, make and revoke keys of a user."""
    # `_base_manager`: the default manager of a project's user model may hide inactive users.
    get_user_model()._base_manager.select_for_update().get(pk=user_pk)


def _with_made(key: ApiKey) -> list[ApiKey]:
    """Return the key, the keys made with it, the keys made with those keys, and so on."""
    found = [key]
    newest = [key]
    while newest := list(ApiKey.objects.filter(made_by__in=newest)):
        found += newest
    return found


def _checked_name(properties: KeyProperties) -> str:
    """Check the properties and return the cleaned name.

    Raises:
        InvalidInputError: a property is not valid.
    """
    name = storable(properties.name).strip()
    if not 0 < len(name) <= NAME_LENGTH:
        raise InvalidInputError(f"Name the key with 1 to {NAME_LENGTH} characters.", field="name")
    if not properties.scopes:
        raise InvalidInputError("Choose what the key may do.", field="scopes")
    if properties.expires_at is not None and properties.expires_at <= timezone.now():
        raise InvalidInputError(
            "The key would have expired already. Choose a later time.", field="expires_at"
        )
    for field in ("requests_per_minute", "tokens_per_day"):
        if not 0 <= getattr(properties, field) <= MAX_INTEGER:
            raise InvalidInputError(f"Choose limits from 0, which is none, to {MAX_INTEGER}.", field=field)
    return name


def _check_within(maker: ApiKey, properties: KeyProperties) -> None:
    """Check that the new key would be allowed no more than its maker.

    Raises:
        PermissionDeniedError: the new key would be allowed more, or the maker has a rate or token limit.
    """
    if beyond := [scope.value for scope in properties.scopes if scope not in maker.scopes]:
        raise PermissionDeniedError(f"The key lacks the scope “{beyond[0]}”, so it cannot give it.")
    if maker.expires_at is not None and (
        properties.expires_at is None or properties.expires_at > maker.expires_at
    ):
        raise PermissionDeniedError(
            f"The key expires at {maker.expires_at.isoformat()}. Let the new one expire no later."
        )
    if properties.people_id is not None and properties.people_id != maker.people_id:
        raise PermissionDeniedError("The key does not act for these people, so the new one cannot either.")
    if maker.requests_per_minute or maker.tokens_per_day:
        raise PermissionDeniedError(
            "The key has limits of its own, which other keys would evade, so it makes none. Use the page “API keys”."
        )

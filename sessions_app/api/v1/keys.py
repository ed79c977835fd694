"""API keys of the caller: list, make, revoke."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema, Status
from pydantic import AwareDatetime, Field

from sessions_app.api.access.callers import Caller, caller_of
from sessions_app.api.idempotency import id_of_key
from sessions_app.api.pages import RowSchema
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.errors import NotFoundError
from sessions_app.live.account_changes import publish_account_change
from sessions_app.models import ApiKey, Scope
from sessions_app.models.api_key import NAME_LENGTH
from sessions_app.process.threads import in_thread
from sessions_app.use_cases.keys import KeyProperties, make_key, revoke_key

router = Router(tags=["keys"])
MAX_LISTED_KEYS = 200
Limit = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


class NewKey(Schema):
    """Properties of a new key.

    Attributes:
        expires_at: time at which the key ends; null for a key that does not end.
        requests_per_minute: most requests in a minute; 0 for no other limit than the site's limit of a person.
        tokens_per_day: most tokens in a day; 0 for no limit.
        people: name of the group of people for whom the key acts as well; null for none. The key that makes this one
            must act for them, too.
    """

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH, examples=["Laptop"])]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope), examples=[["read", "run"]])]
    expires_at: AwareDatetime | None = None
    requests_per_minute: Limit = 0
    tokens_per_day: Limit = 0
    people: str | None = None


class KeySummary(RowSchema):
    """A key, without the key itself.

    Attributes:
        prefix: beginning of the key.
    """

    id: UUID
    name: str
    prefix: str
    scopes: list[Scope]
    people: str | None
    requests_per_minute: int
    tokens_per_day: int
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class KeyWithSecret(KeySummary):
    """A new key. Only this response has the secret, `key`."""

    key: str


@router.get("/keys", response=list[KeySummary])
async def list_keys(request: HttpRequest) -> list[KeySummary]:
    """List the caller's keys, the newest first, including revoked and expired keys."""
    caller = caller_of(request, Scope.MANAGE)
    return await in_thread(_listed, caller)


@router.post("/keys", response={201: KeyWithSecret})
async def create_key(request: HttpRequest, body: NewKey, response: HttpResponse) -> Status[KeyWithSecret]:
    """Make a key. Only this response contains the key itself.

    A key makes keys within its own scopes, lifetime and people, and none when it has limits of its own. The keys that
    a key has made are revoked with it.
    """
    caller = caller_of(request, Scope.MANAGE)
    # For caches, and for idempotency: a response with a secret is not stored for repetitions.
    response["Cache-Control"] = "no-store"
    return Status(201, await in_thread(_make, caller, body, id_of_key(request)))


@router.delete("/keys/{key_id}", response={204: None})
async def delete_key(request: HttpRequest, key_id: UUID) -> Status[None]:
    """Revoke one of the caller's keys, and the keys that it has made. Streams that are open with them end."""
    caller = caller_of(request, Scope.MANAGE)
    keys = ApiKey.objects.filter(user=caller.user.pk)
    await in_thread(revoke_key, keys, key_id, caller.actor_for(caller.user))
    await publish_account_change(str(caller.user.pk))
    return Status(204, None)


def _listed(caller: Caller) -> list[KeySummary]:
    keys = ApiKey.objects.select_related("people").filter(user=caller.user.pk).order_by("-created_at", "pk")
    return [_summary(key) for key in keys[:MAX_LISTED_KEYS]]


def _make(caller: Caller, body: NewKey, key_id: UUID | None) -> KeyWithSecret:
    people_id = None
    if body.people is not None:
        # Only the caller's own group: the names of other groups are not to be found out here.
        group = caller.key.people if caller.key else None
        if group is None or group.name != body.people:
            raise NotFoundError("There is no such group of people for whom the caller acts.")
        people_id = group.pk
    properties = KeyProperties(
        name=body.name,
        scopes=tuple(body.scopes),
        expires_at=body.expires_at,
        requests_per_minute=body.requests_per_minute,
        tokens_per_day=body.tokens_per_day,
        people_id=people_id,
    )
    row, key = make_key(caller.user, properties, caller.actor_for(caller.user), caller.key, key_id=key_id)
    return KeyWithSecret(**_summary(row).dict(), key=key)


def _summary(key: ApiKey) -> KeySummary:
    return KeySummary.from_row(key, people=key.people.name if key.people else None)

"""API requests under idempotency keys: one process handles a request, and its response is repeated for a day.

    claim ---> locked for `LOCKED` seconds ---> finish: the response is stored, and repeated
                 |              |
                 |              +---> release: nothing was changed, so the row is deleted
                 +---> the lock has expired (the process has died), or unlock: the next request takes over

A request may therefore be handled twice. Rows created by a request have the id `id_of_created`, by which the second
attempt finds the row of the first.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from sessions_app.errors import ConflictError, InvalidInputError
from sessions_app.models import IdempotentRequest
from sessions_app.secrets.digests import unguessable_id

KEPT = timedelta(days=1)
"""Time for which a response is repeated."""
LOCKED = timedelta(seconds=60)
"""Time after which the process handling a request counts as dead, and another process may handle the request."""


@dataclass(frozen=True)
class RequestKey:
    """Identity of a request. Another `fingerprint` under the same key is another request."""

    user_pk: Any
    caller: str
    key: str
    fingerprint: str


def claim(request: RequestKey) -> IdempotentRequest:
    """Return the row of the request: with a status if the request was answered, else to be handled by this process.

    Raises:
        InvalidInputError: the key was used for another request.
        ConflictError: the request is being handled.
    """
    rows = IdempotentRequest.objects.filter(caller=request.caller, key=request.key)
    rows.filter(created_at__lt=Now() - KEPT).delete()
    attempt = uuid4()
    with transaction.atomic():
        new = {
            "user_id": request.user_pk,
            "fingerprint": request.fingerprint,
            "attempt": attempt,
            "locked_until": Now() + LOCKED,
        }
        # Find and lock in one step: the request that holds the key may be refused, which deletes the row.
        row, _ = rows.select_for_update().get_or_create(caller=request.caller, key=request.key, defaults=new)
        if row.fingerprint != request.fingerprint:
            raise InvalidInputError("it was used for another request; make a new one")
        if row.status is not None or row.attempt == attempt:
            return row
        # By PostgreSQL's clock, in the statement: two requests cannot both take over.
        if not rows.filter(locked_until__lt=Now()).update(attempt=attempt, locked_until=Now() + LOCKED):
            raise ConflictError(
                "The first request with this Idempotency-Key is being handled. Try again in a minute."
            )
        row.attempt = attempt
        row.is_repeated = True
        return row


def id_of_created(row: IdempotentRequest) -> UUID:
    """Return the id for the row that the request creates, the same in each attempt."""
    # With the row's own key, since an idempotency key may be used again after a day for another request.
    return unguessable_id(__name__, f"{row.pk} {row.caller} {row.key}")


def finish(row: IdempotentRequest, session_pk: UUID | None, status: int, body: str, location: str) -> None:
    """Store the response of the request, unless another process has taken over."""
    handled = IdempotentRequest.objects.filter(pk=row.pk, attempt=row.attempt)
    try:
        handled.update(session_id=session_pk, status=status, body=body, location=location)
    except IntegrityError:  # the session has been erased
        handled.delete()


def release(row: IdempotentRequest) -> None:
    """Delete the row of a request without effect: the client can correct it and use the same key."""
    IdempotentRequest.objects.filter(pk=row.pk, attempt=row.attempt).delete()


def unlock(row: IdempotentRequest) -> None:
    """Let the client immediately repeat a request that may have had an effect."""
    IdempotentRequest.objects.filter(pk=row.pk, attempt=row.attempt).update(
        locked_until=Now() - timedelta(seconds=1)
    )


def delete_old_requests() -> None:
    """Delete requests older than `KEPT`."""
    IdempotentRequest.objects.filter(created_at__lt=Now() - KEPT).delete()

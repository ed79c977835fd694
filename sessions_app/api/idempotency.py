"""Idempotency keys (draft-ietf-httpapi-idempotency-key-header): a repeated write gets the response of the first.

    success        the response is stored and repeated for a day
    refused        nothing has changed: the key is free again
    failed         the next request with the key is a second attempt
    process died   after a minute the next request is a second attempt; until then it gets 409

A response is stored before it is sent: a response that reaches the client is always repeated.

A second attempt may find the work done. Operations therefore give the row that they create the id `id_of_key`, by which
the second attempt finds it. A secret of the row is replaced: no client has seen the first secret.

There are two decorators, because the claim needs the caller and the parsed input, and the response is complete only
after django-ninja has made it: `_claiming` wraps the operation, `_storing` the whole view.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import isasyncgenfunction
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import ValidationError

from sessions_app.api.access.callers import Caller, caller_of
from sessions_app.api.access.problems import problem_of
from sessions_app.asgi.problem_details import problem
from sessions_app.errors import ConflictError, InvalidInputError
from sessions_app.models.idempotent_request import MAX_KEY_LENGTH, IdempotentRequest, is_usable_key
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.process.threads import in_thread
from sessions_app.store import idempotent_requests
from sessions_app.store.idempotent_requests import RequestKey

HEADER = "Idempotency-Key"
REPEATED = "Idempotency-Replayed"
RETRY_SECONDS = "10"
"""`Retry-After` of a request that is repeated while the first is being handled."""
WRITES = ("POST", "PUT", "PATCH", "DELETE")
_SECRET = problem(409, "This was done already. The response had a secret, which is told once.", "conflict")
"""Response to the repetition of a request whose response had a secret, which is not stored."""
_DONE_ALREADY = (404, 409, 412)
"""Statuses with which an act, such as an answer or a deletion, is refused if it was done before."""
_FIRST_ATTEMPT = "An earlier attempt at this request ended without a response, and may have done it."
_CLAIMED = "_claimed_idempotent_request"
View = Callable[..., Awaitable[Any]]


def add_idempotency(api: NinjaAPI) -> None:
    """Let all write operations of the API take the header. Call it before routers are added."""
    api.add_decorator(_claiming, mode="operation")
    api.add_decorator(_storing, mode="view")


def id_of_key(request: HttpRequest) -> UUID | None:
    """Return an id for the object that the request creates, the same for each attempt; None without a key."""
    row = getattr(request, _CLAIMED, None)
    return idempotent_requests.id_of_created(row) if row else None


def key_of(request: HttpRequest) -> str:
    """Return the idempotency key of a request; empty without a key. Within an operation the key is valid."""
    return request.headers.get(HEADER, "")


def _claiming(view: Any) -> Any:
    """Wrap an operation: claim the request before it runs."""
    if isasyncgenfunction(view):  # a streamed response cannot be stored
        return view

    @wraps(view)
    async def claim(request: HttpRequest, **values: Any) -> Any:
        key = request.headers.get(HEADER)
        if key is None or request.method not in WRITES:
            return await view(request, **values)
        try:
            row = await _claim(_identity(request, key))
        except ConflictError as error:
            refused = problem_of(error)
            refused["Retry-After"] = RETRY_SECONDS
            return refused
        if row.status is not None:
            return _repeated(row)
        setattr(request, _CLAIMED, row)
        return await view(request, **values)

    return claim


def _storing(run: View) -> View:
    """Wrap a view: store its complete response."""

    @wraps(run)
    async def store(request: HttpRequest, **values: Any) -> HttpResponseBase:
        response: HttpResponseBase = await run(request, **values)
        row = getattr(request, _CLAIMED, None)
        if row is None:
            return response
        try:
            await _store(row, response, values)
        except UNAVAILABLE as error:  # The response may be lost, so it must not be sent.
            return problem_of(error)
        _tell_of_first_attempt(row, response)
        return response

    return store


async def _store(row: IdempotentRequest, response: HttpResponseBase, values: dict[str, Any]) -> None:
    """Store the response for repetitions, or allow another attempt."""
    if response.status_code < 300 and isinstance(response, HttpResponse):
        # Operations mark responses with secrets as `no-store`, for caches and for this table.
        stored = _SECRET if response.get("Cache-Control") == "no-store" else response
        body = stored.content.decode()
        location = stored.get("Location", "")
        session_pk = _session_of(values, body)
        await in_thread(idempotent_requests.finish, row, session_pk, stored.status_code, body, location)
    # After a failure, or a refusal of a second attempt, the first attempt may have changed something: keep the id.
    elif row.is_repeated or response.status_code >= 500:
        await in_thread(idempotent_requests.unlock, row)
    else:
        await in_thread(idempotent_requests.release, row)


async def _claim(identity: RequestKey) -> IdempotentRequest:
    try:
        return await in_thread(idempotent_requests.claim, identity)
    except InvalidInputError as error:
        raise _invalid(str(error)) from None


def _invalid(message: str) -> ValidationError:
    return ValidationError([{"loc": ("header", HEADER), "msg": message}])


def _identity(request: HttpRequest, key: str) -> RequestKey:
    if not is_usable_key(key):
        raise _invalid(f"send 1 to {MAX_KEY_LENGTH} printable ASCII characters")
    caller = caller_of(request)
    return RequestKey(caller.user.pk, _name_of(caller), key, _fingerprint(request))


def _name_of(caller: Caller) -> str:
    return f"key:{caller.key.pk}" if caller.key else f"person:{caller.user.pk}"


def _fingerprint(request: HttpRequest) -> str:
    # The same key with another request is a mistake of the client, and must not get the response of the first.
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    if request.content_type != "multipart/form-data":
        digest.update(request.body)
        return digest.hexdigest()
    digest.update(json.dumps(sorted(request.POST.lists())).encode())  # boundaries differ
    for name in sorted(request.FILES):
        file: Any = request.FILES[name]
        digest.update(json.dumps([name, file.name, file.size]).encode())
        for chunk in file.chunks():
            digest.update(chunk)
        file.seek(0)
    return digest.hexdigest()


def _tell_of_first_attempt(row: IdempotentRequest, response: HttpResponseBase) -> None:
    """Add to a refusal that the first attempt, which got no response, may have done the act already."""
    if row.is_repeated and response.status_code in _DONE_ALREADY and isinstance(response, HttpResponse):
        refusal = json.loads(response.content)
        refusal["detail"] = f"{_FIRST_ATTEMPT} {refusal['detail']}"
        response.content = json.dumps(refusal)


def _repeated(row: IdempotentRequest) -> HttpResponse:
    content_type = "application/json"
    if row.status == _SECRET.status_code:
        content_type = _SECRET["Content-Type"]
    response = HttpResponse(row.body, status=row.status, content_type=content_type)
    response[REPEATED] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def _session_of(values: dict[str, Any], body: str) -> UUID | None:
    """Return the session of the response: an erasure of the session erases the stored response as well."""
    fields = json.loads(body) if body else {}
    session_id = values.get("session_id")
    if not session_id and isinstance(fields, dict):
        session_id = fields.get("session_id")
    return UUID(str(session_id)) if session_id else None

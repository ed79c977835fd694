"""Idempotency keys (draft-ietf-httpapi-idempotency-key-header): a write that is sent again is answered, not repeated.

A response is repeated for a day to the same caller. Until the first request is answered, a second one gets 409. A
request that was refused has changed nothing, so its key is free again. That of a process that died can be tried again
after a minute: the use cases begin nothing twice under an id that is made of the key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import isasyncgenfunction
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac
from ninja import NinjaAPI
from ninja.errors import ValidationError

from sessions_app.db.threads import in_thread
from sessions_app.errors import InvalidInputError
from sessions_app.models.idempotent_request import LONGEST_KEY, IdempotentRequest, is_usable_key
from sessions_app.programs.callers import Caller, caller_of
from sessions_app.services import idempotent_requests
from sessions_app.services.idempotent_requests import RequestKey
from sessions_app.serving.problem_details import problem

HEADER = "Idempotency-Key"
REPEATED = "Idempotency-Replayed"
OFFSET = "Upload-Offset"
"""Header of chunks of a file: they are safe to repeat without a key, and too large to read twice."""
WRITES = ("POST", "PUT", "PATCH", "DELETE")
_SECRET = problem(409, "This was done already. The response had a secret, which is told once.", "conflict")
"""Response to the repetition of a request whose response must not be stored."""
_CLAIMED = "_claimed_idempotent_request"
View = Callable[..., Awaitable[Any]]


def add_idempotency(api: NinjaAPI) -> None:
    """Let each operation of the API that writes take the header. Called before its routers are added."""
    api.add_decorator(_claiming, mode="operation")
    api.add_decorator(_storing, mode="view")


def id_of_key(request: HttpRequest) -> UUID | None:
    """Return an id for the thing that the request creates, the same for a repetition; None without a key.

    Nobody else can foresee the id, and take it.
    """
    key = request.headers.get(HEADER)
    if not key:
        return None
    words = f"{_name_of(caller_of(request))} {key}"
    return UUID(bytes=salted_hmac(__name__, words, algorithm="sha256").digest()[:16], version=4)


def _claiming(view: Any) -> Any:
    """Wrap an operation, which runs when caller and input are known."""
    if isasyncgenfunction(view):
        return view

    @wraps(view)
    async def claim(request: HttpRequest, **values: Any) -> Any:
        key = request.headers.get(HEADER)
        if key is None or request.method not in WRITES or request.headers.get(OFFSET):
            return await view(request, **values)
        row = await _claim(_identity(request, key))
        if row.status is not None:
            return _repeated(row)
        setattr(request, _CLAIMED, row)
        return await view(request, **values)

    return claim


def _storing(run: View) -> View:
    """Wrap all of an operation, whose response is complete at the end."""

    @wraps(run)
    async def store(request: HttpRequest, **values: Any) -> HttpResponseBase:
        response: HttpResponseBase = await run(request, **values)
        row = getattr(request, _CLAIMED, None)
        if row is None:
            return response
        if response.status_code >= 300 or not isinstance(response, HttpResponse):
            await in_thread(idempotent_requests.release, row)
        else:
            stored = _SECRET if response.get("Cache-Control") == "no-store" else response
            body, location = stored.content.decode(), stored.get("Location", "")
            session_pk = _session_of(values, body)
            await in_thread(idempotent_requests.finish, row, session_pk, stored.status_code, body, location)
        return response

    return store


async def _claim(identity: RequestKey) -> IdempotentRequest:
    try:
        return await in_thread(idempotent_requests.claim, identity)
    except InvalidInputError as error:
        raise _invalid(str(error)) from None


def _invalid(message: str) -> ValidationError:
    return ValidationError([{"loc": ("header", HEADER), "msg": message}])


def _identity(request: HttpRequest, key: str) -> RequestKey:
    if not is_usable_key(key):
        raise _invalid(f"send 1 to {LONGEST_KEY} printable ASCII characters")
    caller = caller_of(request)
    return RequestKey(caller.user.pk, _name_of(caller), key, _fingerprint(request))


def _name_of(caller: Caller) -> str:
    return f"key:{caller.key.pk}" if caller.key else f"person:{caller.user.pk}"


def _fingerprint(request: HttpRequest) -> str:
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


def _repeated(row: IdempotentRequest) -> HttpResponse:
    content_type = _SECRET["Content-Type"] if row.status == _SECRET.status_code else "application/json"
    response = HttpResponse(row.body, status=row.status, content_type=content_type)
    response[REPEATED] = "true"
    if row.location:
        response["Location"] = row.location
    return response


def _session_of(values: dict[str, Any], body: str) -> UUID | None:
    """Return the session that the response is about, with which its row is erased."""
    fields = json.loads(body) if body else {}
    session_id = values.get("session_id") or (fields.get("session_id") if isinstance(fields, dict) else None)
    return UUID(str(session_id)) if session_id else None

"""People and sessions by the names that ADK's clients have for them: a user id, an app, and a session id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest

from sessions_app.api.access.callers import caller_of
from sessions_app.errors import InvalidInputError
from sessions_app.models import Scope, Session
from sessions_app.sessions.ownership import own_session_by_key


@contextmanager
def fields_named(**names: str) -> Iterator[None]:
    """Give the field of an `InvalidInputError` the name that it has in the request.

    Args:
        names: names in the request by those of the use case; a field that is left out keeps its name.
    """
    try:
        yield
    except InvalidInputError as error:
        error.field = names.get(error.field, error.field)
        raise


async def person_of(request: HttpRequest, scope: Scope, user_id: str) -> AbstractBaseUser:
    """Return the person with this name or primary key, for whom the caller may do what the scope allows.

    Raises:
        PermissionDeniedError: the key lacks the scope.
        NotFoundError: the caller does not act for such a person.
    """
    caller = caller_of(request)
    caller.require(scope)
    return await caller.acting_for(user_id)


async def session_of(
    request: HttpRequest, scope: Scope, app_name: str, user_id: str, session_id: str
) -> Session:
    """Return the person's session with an app, by the id that ADK's clients have for it. Raises as `person_of` does.

    Raises:
        NotFoundError: the person has no such session.
    """
    return await own_session_by_key(await person_of(request, scope, user_id), app_name, session_id)

"""Names of google-adk's clients: fields in camelCase, and users and sessions by user id, app and session id."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from ninja import Schema
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from sessions_app.api.access.callers import caller_of
from sessions_app.conf import HIDDEN, conf
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.models import Scope, Session
from sessions_app.sessions.ownership import own_session_by_key


class AdkSchema(Schema):
    """Base of schemas with fields whose names have several words. Requests may also use the names of Python."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


@contextmanager
def fields_named(**names: str) -> Iterator[None]:
    """Rename the field of an `InvalidInputError` to its name in the request.

    Args:
        names: names in the request, by the names of the use case. Other fields keep their names.
    """
    try:
        yield
    except InvalidInputError as error:
        error.field = names.get(error.field, error.field)
        raise


async def person_of(request: HttpRequest, scope: Scope, app_name: str, user_id: str) -> AbstractBaseUser:
    """Return the user with this name or primary key, for whom the caller acts with the app.

    Raises:
        PermissionDeniedError: the key lacks the scope.
        NotFoundError: the caller does not act for such a user, or the app is hidden.
    """
    caller = caller_of(request)
    caller.require(scope)
    if conf().access_of(app_name) == HIDDEN:
        raise NotFoundError("There is no such agent here.")
    return await caller.acting_for(user_id)


async def session_of(
    request: HttpRequest, scope: Scope, app_name: str, user_id: str, session_id: str
) -> Session:
    """Return the user's session with an app by its key. Raises the same as `person_of`.

    Raises:
        NotFoundError: the user has no such session.
    """
    return await own_session_by_key(await person_of(request, scope, app_name, user_id), app_name, session_id)

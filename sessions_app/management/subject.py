"""Arguments of management commands that name a session or a user."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.sessions.ownership import User

MAX_NAMES = 10
"""Maximum number of names in an error."""


def add_subject_arguments(parser: ArgumentParser) -> None:
    """Require one of `--session` and `--user`."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--session", type=UUID, help="the session with this id, as the admin shows it")
    subject.add_argument("--user", help="the person with this user name")


def user_pk_of(name: str) -> Any:
    """Return the primary key of the user with a name.

    Raises:
        NotFoundError: there is no such user.
    """
    return user_named(name).pk


def user_named(name: str) -> User:
    """Return the user with a name.

    Raises:
        NotFoundError: there is no such user.
    """
    model: Any = get_user_model()
    user: User | None = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if user is None:
        raise NotFoundError(f"There is no user '{name}'.")
    return user


def user_at_terminal(name: str | None) -> User:
    """Return the active user with a name; without a name, the only active user who is not staff.

    Raises:
        NotFoundError: there is no such user.
        InvalidInputError: the named user is inactive; or no name is given, and there are several users.
    """
    if name is not None:
        user = user_named(name)
        if not user.is_active:
            raise InvalidInputError(f"The user '{name}' is not active.")
        return user
    model: Any = get_user_model()
    people = list(model._default_manager.filter(is_active=True, is_staff=False)[: MAX_NAMES + 1])
    if not people:
        raise NotFoundError("The site has no active user who is not staff. Name a user: --user NAME.")
    if len(people) > 1:
        names = ", ".join(user.get_username() for user in people[:MAX_NAMES])
        raise InvalidInputError(f"Name the user whose conversation it is: --user NAME, such as {names}.")
    only: User = people[0]
    return only

"""Subject of a management command: a session or a person."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from sessions_app.errors import NotFoundError


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
    model: Any = get_user_model()
    user = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if user is None:
        raise NotFoundError(f"There is no user '{name}'.")
    return user.pk

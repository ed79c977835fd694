"""Base of commands whose errors are sentences, and arguments that name a session or a user."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from runtime.errors import AdkError
from sessions_app.errors import NotFoundError
from sessions_app.sessions.ownership import User


class SiteCommand(BaseCommand):
    """Command that an `AdkError` ends with the error's sentence and exit code 1."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except AdkError as error:
            raise CommandError(str(error)) from error


def add_subject_arguments(parser: ArgumentParser) -> None:
    """Require one of `--session` and `--user`."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--session", type=UUID, help="the session with this id, as the admin shows it")
    subject.add_argument("--user", help="the person with this user name")


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

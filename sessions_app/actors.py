"""Actors: who asks for an act. An actor carries a snapshot of the name, which survives the account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import models

NAME_LENGTH = 254


class ActorKind(models.TextChoices):
    """Kinds of actors: a person acts in conversations of their own, staff act in the admin."""

    PERSON = "person"
    STAFF = "staff"


@dataclass(frozen=True)
class Actor:
    """The author of one act.

    Attributes:
        name: the name at the time of the act.
        address: the IP address that the act came from; empty when it is not recorded.
    """

    kind: ActorKind
    name: str
    user_pk: Any = None
    address: str = ""


def person(user: AbstractBaseUser | AnonymousUser) -> Actor:
    """Return the user as the author of an act in a conversation of the user."""
    return Actor(ActorKind.PERSON, user.get_username()[:NAME_LENGTH], user.pk)


def person_with(user_pk: Any) -> Actor:
    """Return the user with this primary key, read from the database, as `person` does."""
    return person(get_user_model()._base_manager.get(pk=user_pk))


def staff(user: AbstractBaseUser | AnonymousUser, address: str) -> Actor:
    """Return the member of staff as the author of an act in the admin."""
    return Actor(ActorKind.STAFF, user.get_username()[:NAME_LENGTH], user.pk, address)

"""Acts and their actors.

An actor has a snapshot of the name: a record must still say who has acted after the account was deleted or renamed.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:  # At run time the users' models are not loaded yet.
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

NAME_LENGTH = 254


class ActorKind(models.TextChoices):
    """Kinds of actors.

    A person acts in their own conversations, and staff act in the admin. An API key acts in conversations of its owner,
    or of another person for whom it may act. A job answers its call, a scheduled task wakes an agent, and an agent
    calls a tool. The site stands for code of the project.
    """

    PERSON = "person"
    KEY = "key"
    STAFF = "staff"
    JOB = "job"
    SCHEDULE = "schedule"
    AGENT = "agent"
    SITE = "site"


class ActionKind(models.TextChoices):
    """Kinds of acts.

    In the record of staff, `ANSWER` is an answer other than a yes or a no. The text of the answer is only in the
    session, and is erased with it. `ASK` asks a second person to agree to an act, and `ALERT` tells
    of unusual reading. `READ` and `SEAL` are those of a case file.
    """

    ADD = "add"
    CHANGE = "change"
    DELETE = "delete"
    RESTORE = "restore"
    STOP = "stop"
    RETRY = "retry"
    ASK = "ask"
    REWIND = "rewind"
    SWITCH = "switch"
    ANSWER = "answer"
    APPROVE = "approve"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    LIFT = "lift"
    SHARE = "share"
    REVOKE = "revoke"
    ALERT = "alert"
    READ = "read"
    SEAL = "seal"


@dataclass(frozen=True)
class Actor:
    """Actor of an act.

    Attributes:
        name: the name at the time of the act.
        user_pk: primary key of the user, or of the user for whom an API key acts; None for other actors.
        address: IP address of the actor; empty when it is not recorded.
        key: id of an actor other than a user, such as a job or an API key.
        traceparent: trace context of a program's request; empty without one.
    """

    kind: ActorKind
    name: str
    user_pk: Any = None
    address: str = ""
    key: str = ""
    traceparent: str = ""

    @property
    def actor_id(self) -> str:
        """The key, or else the primary key of the user: an API key has a user, too, and records name the key."""
        return (self.key or str(self.user_pk or ""))[:64]

    def columns(self) -> dict[str, str | None]:
        """Return the columns of `sessions_app.models.actor_columns` for this actor."""
        return {
            "actor_kind": self.kind.value,
            "actor_id": self.actor_id,
            "actor_name": self.name[:NAME_LENGTH],
            "address": _without_zone(self.address),
        }


@dataclass(frozen=True)
class UserActor(Actor):
    """A user, or an API key acting for the user: the actor of a use case.

    Attributes:
        is_service: True for the key of a service that acts for another person than its owner.
    """

    user: "AbstractBaseUser | AnonymousUser" = field(kw_only=True, compare=False)
    is_service: bool = False


SITE = Actor(ActorKind.SITE, "site")
"""The site's own code, such as a webhook."""


@dataclass(frozen=True)
class Act:
    """An act on a session or a part of it.

    Attributes:
        subject: kind and key of the row, such as `("invocation", "e-1")`.
    """

    by: Actor
    action: ActionKind
    subject: tuple[str, str]
    reason: str = ""

    def columns(self) -> dict[str, str | None]:
        """Return the columns of a `SessionAct`, except its session and its event."""
        kind, key = self.subject
        about = {
            "action": self.action.value,
            "subject_kind": kind,
            "subject_id": key[:128],
            "reason": self.reason,
        }
        return {**self.by.columns(), **about}


def _without_zone(address: str) -> str | None:
    """Return an IP address without its zone; None for any other text."""
    # A link-local address may have a zone (`fe80::1%eth0`), which PostgreSQL refuses.
    try:
        return str(ip_address(address.partition("%")[0]))
    except ValueError:
        return None


def person(user: "AbstractBaseUser | AnonymousUser", address: str = "") -> UserActor:
    """Return the user as the actor in a conversation of the user."""
    return UserActor(ActorKind.PERSON, user.get_username()[:NAME_LENGTH], user.pk, address, user=user)


def api_key(user: "AbstractBaseUser", key_id: str, key_name: str, address: str = "") -> UserActor:
    """Return the API key, which acts for the user, as the actor in a conversation of the user."""
    name = f"{user.get_username()} by the key {key_name}"
    return UserActor(ActorKind.KEY, name[:NAME_LENGTH], user.pk, address, key_id, user=user)


def staff(user: "AbstractBaseUser | AnonymousUser", address: str) -> Actor:
    """Return the member of staff as the actor in the admin."""
    return Actor(ActorKind.STAFF, user.get_username()[:NAME_LENGTH], user.pk, address)


def agent(name: str) -> Actor:
    """Return the agent, which calls a tool, as the actor."""
    return Actor(ActorKind.AGENT, name)


def job(job_id: object, tool_name: str) -> Actor:
    """Return the job, which answers its call, as the actor."""
    return Actor(ActorKind.JOB, tool_name, key=str(job_id))


def schedule(task_id: int, agent_name: str) -> Actor:
    """Return the scheduled task, which wakes its agent, as the actor."""
    return Actor(ActorKind.SCHEDULE, agent_name, key=str(task_id))

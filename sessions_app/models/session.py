"""Session: one conversation of one user with one app."""

import uuid
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F
from django.db.models.functions import Cast, Coalesce, Now

from runtime.artifacts.borrowed_artifact_service import SessionArgs
from sessions_app.conf import HIDDEN, conf
from sessions_app.models.event import WordsOf

TITLE_LENGTH = 200


class TitleSource(models.TextChoices):
    """Origin of a session's title."""

    MESSAGE = "message"
    MODEL = "model"
    PERSON = "person"


OF_OWN_KEY = ~models.Q(key=Cast("id", models.TextField()))
"""Sessions whose key is not their id: clients of the ADK API choose keys."""
WITH_OWN_TITLE = ~models.Q(title_source=TitleSource.MESSAGE)
"""Sessions whose title does not quote a message. A search finds the words of messages in their events."""


def of_shown_apps(app: str = "app_name") -> models.Q:
    """Return the filter for rows of apps that are not hidden by `ADK["access"]`; `app` is the lookup of a row's app."""
    rules = conf().by_app("access")
    if rules[""] == HIDDEN:
        return models.Q(**{f"{app}__in": [name for name, rule in rules.items() if rule != HIDDEN]})
    hidden = [name for name, rule in rules.items() if rule == HIDDEN]
    return ~models.Q(**{f"{app}__in": hidden}) if hidden else models.Q()


class SessionQuerySet(models.QuerySet["Session"]):
    """Sessions by owner and last use."""

    def owned_by(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Return the user's sessions, except deleted sessions and those of hidden apps; none for an anonymous user."""
        return self.of_user(user).filter(of_shown_apps(), deleted_at=None)

    def of_user(self, user: AbstractBaseUser | AnonymousUser) -> Self:
        """Return the user's sessions, including deleted sessions until their erasure; none for an anonymous user."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(user_id=user.pk)

    def begun(self) -> Self:
        """Return the sessions with a message, or with a title of the user: see `Session.has_begun`."""
        return self.exclude(title="", last_seq=0)

    def without_words(self) -> models.QuerySet[Any]:
        """Return the sessions with events whose words are not in `EventWords` yet: events after `words_seq`."""
        counted = self.annotate(words_seq=Coalesce("figures__words_seq", 0))
        return counted.filter(last_seq__gt=F("words_seq"))

    def newest_first(self) -> Self:
        """Order by last use, the latest first."""
        return self.order_by("-updated_at", "-id")


class Session(models.Model):
    """A conversation. An append of an event locks the row.

    Attributes:
        key: the session id of the ADK API, unique for the user and app.
        state: values of keys without a scope prefix; app and user state have their own tables.
        initial_state: `state` before any state delta.
        last_seq: sequence number of the last event.
        log_hash: SHA-256 chain over the bodies of the events by the first rule of `history.evidence.integrity`; no
            longer written.
        lease_token: fencing token, incremented by every lease; an append with an older token is refused.
        lease_owner: the process that holds the lease; empty without a lease.
        title_source: origin of the title: the first message, a model (`ADK["title_model"]`), or the user, whose title
            is never replaced. `MODEL` from the request on: a model that fails leaves the title of the first message.
        archived_at: time at which the user archived the session; null for a session in the list. A message of
            the user moves the session back to the list.
        deleted_at: time at which the user deleted the session. A deleted session is hidden; a sweep erases it when the
            time to undo the deletion is over.
        updated_at: time of the last use, for lists and retention; up to a minute behind `last_event_at` during a run.
        packed_at: time from which the events are in the file of a `Pack` only; null for events in the tables. Functions
            of the database set it; `store.packs` opens such a session.
        seen_seq: sequence number of the last event shown by a visible page of the user; null for sessions older than
            this column.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_sessions")
    key = models.CharField(max_length=255)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True, default="", db_default="")
    title_source = models.CharField(
        max_length=16,
        choices=TitleSource.choices,
        default=TitleSource.MESSAGE,
        db_default=TitleSource.MESSAGE,
    )
    is_pinned = models.BooleanField(default=False, db_default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    packed_at = models.DateTimeField(null=True, editable=False)
    seen_seq = models.BigIntegerField(null=True, default=0, db_default=0)
    state = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    initial_state = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    last_seq = models.BigIntegerField(default=0, db_default=0)
    log_hash = models.BinaryField(default=b"", db_default=b"")
    lease_token = models.BigIntegerField(default=0, db_default=0)
    lease_owner = models.CharField(max_length=200, blank=True, default="", db_default="")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    # Indexed, so an append leaves this column alone for up to a minute: PostgreSQL updates a row in place only if no
    # indexed column changes. `last_event_at` has no index and changes with each append.
    updated_at = models.DateTimeField(db_default=Now())
    last_event_at = models.DateTimeField(db_default=Now())

    objects = SessionQuerySet.as_manager()

    class Meta:
        # The permissions cover all rows of a session.
        permissions = [
            ("correct_state", "Can correct the state of sessions"),
            ("view_text", "Can read the words of conversations"),
            ("export_data", "Can export conversations and data of people"),
            ("unmask_data", "Can see masked values"),
            ("erase_data", "Can erase conversations and data of people"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["app_name", "user", "key"], name="session_unique_key"),
        ]
        indexes = [
            models.Index(
                fields=["user", "-updated_at", "-id"],
                # Partial, because the list never shows archived and deleted sessions together with others.
                name="session_in_list",
                condition=models.Q(archived_at=None, deleted_at=None),
            ),
            models.Index(
                fields=["user", "-updated_at", "-id"],
                name="session_archived",
                condition=models.Q(archived_at__isnull=False, deleted_at=None),
            ),
            models.Index(
                fields=["user"],
                name="session_pinned",
                condition=models.Q(is_pinned=True, archived_at=None, deleted_at=None),
            ),
            models.Index(
                fields=["deleted_at"], name="session_deleted", condition=models.Q(deleted_at__isnull=False)
            ),
            models.Index(fields=["-updated_at"], name="session_by_last_use"),
            models.Index(fields=["key"], name="session_by_key", condition=OF_OWN_KEY),
            GinIndex(WordsOf("title"), name="session_title_parts", condition=WITH_OWN_TITLE),
            models.Index(
                fields=["id"],
                # The sweep looks for expired leases among held sessions: a rewind has a lease, but no running
                # invocation.
                name="session_held",  # without the time at which a lease expires, which each renewal changes
                condition=~models.Q(lease_owner=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.app_name} {self.key}"

    @property
    def runtime_args(self) -> SessionArgs:
        """App, user and id of the session, as keyword arguments of the runtime's services."""
        return {"app_name": self.app_name, "user_id": str(self.user_id), "session_id": self.key}

    @property
    def has_begun(self) -> bool:
        """True from the first message on, which sets the title. A file may be uploaded before the first message."""
        return bool(self.title) or self.last_seq > 0

    @property
    def is_unread(self) -> bool:
        """True if no visible page of the user has shown the last event."""
        return self.seen_seq is not None and self.last_seq > self.seen_seq

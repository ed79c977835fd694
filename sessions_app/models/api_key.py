"""ApiKey: a key by which a program acts for a user over the HTTP API."""

import secrets
from collections.abc import Collection
from typing import Any, Self
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from sessions_app.base.actors import NAME_LENGTH as ACTOR_NAME_LENGTH
from sessions_app.secrets.digests import digest_of

KEY_PREFIX = "adk_"
KEY_BYTES = 32
NAME_LENGTH = 100
PREFIX_LENGTH = 12
"""Length of the beginning of a key in its row, by which users recognise the key."""


class Scope(models.TextChoices):
    READ = "read", "Read conversations, files and jobs"
    RUN = "run", "Send messages and files, stop and retry"
    ANSWER = "answer", "Answer calls, questions and approvals"
    MANAGE = "manage", "Create, change and delete conversations, schedules, keys and webhooks"


def users_of_keys(groups: Collection[int]) -> models.QuerySet[Any]:
    """Return the users of the groups for whom a service's key acts: active, and neither staff nor superusers.

    Otherwise the addition of a member of staff to the group would give a program the rights of staff.
    """
    users = get_user_model()._default_manager.filter(groups__in=groups, is_active=True)
    return users.filter(is_staff=False, is_superuser=False)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """Selections of keys, and the creation of a key."""

    def active(self) -> Self:
        """Return the keys in force: not revoked, not expired, of an active user."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=Now())
        return self.filter(unexpired, revoked_at=None, user__is_active=True)

    def make(self, **fields: Any) -> "tuple[ApiKey, str]":
        """Store a new key; return its row, and the key itself, which is not stored."""
        row = self.model(**fields)
        key = row.take_new_key()
        row.save(force_insert=True)
        return row, key


class ApiKey(models.Model):
    """A key with its scopes. A revoked key is kept as a record.

    Attributes:
        user: owner of the key, for whom it acts.
        people: group of further users for whom the key acts, see `users_of_keys`; None for a personal key.
        made_by: key of the creator, whose revocation revokes this key, too; None for a key created by a user.
        prefix: beginning of the key, by which users recognise it.
        digest: SHA-256 of the key.
        scopes: values of `Scope`.
        requests_per_minute: limit in addition to the site's limit for a user; 0 is none.
        tokens_per_day: limit of the tokens of the key's invocations; 0 is none.
        last_used_at: time of the last request, correct to a minute.
        revoked_by_name: name of the revoking user, member of staff or key at the time of the revocation.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_api_keys")
    people = models.ForeignKey(
        "auth.Group", on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    made_by = models.ForeignKey("self", on_delete=models.SET_NULL, related_name="made", null=True, blank=True)
    name = models.CharField(max_length=NAME_LENGTH)
    prefix = models.CharField(max_length=PREFIX_LENGTH, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    requests_per_minute = models.PositiveIntegerField(default=0, db_default=0)
    tokens_per_day = models.PositiveBigIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by_name = models.CharField(max_length=ACTOR_NAME_LENGTH, blank=True, default="", db_default="")

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        default_permissions = ("view", "add")
        permissions = [("revoke_apikey", "Can revoke API key")]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"

    def take_new_key(self) -> str:
        """Make a new key, set the row's prefix and digest, and return the key. The caller saves the row."""
        key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
        self.prefix = key[:PREFIX_LENGTH]
        self.digest = digest_of(key)
        return key

    def acts_for(self, user_pk: Any) -> bool:
        """Return True if the key is in force and acts for the user, by the current rows of the database."""
        key = ApiKey.objects.active().filter(pk=self.pk)
        if user_pk == self.user_id:
            return key.exists()
        if self.people_id is None:
            return False
        return key.exists() and users_of_keys([self.people_id]).filter(pk=user_pk).exists()

    @property
    def is_of_service(self) -> bool:
        """True for a key created by staff for the users of a group; its rate replaces the limit of a user."""
        return self.people_id is not None and self.made_by_id is None

    @property
    def is_in_force(self) -> bool:
        """True until the key is revoked or expires."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())

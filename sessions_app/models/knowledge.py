"""Knowledge bases: documents in versions, cut into passages that are found by words and by meaning, and the searches.

The optional app `sessions_app.contrib.knowledge` fills and searches these tables.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.db.models.signals import post_delete
from django.dispatch import receiver

from sessions_app.models.memory import SearchableQuerySet, SearchableText, TextVector
from sessions_app.models.stored_files import delete_after_commit

FOLDER = "knowledge/"
MAX_PLACE_LENGTH = 600


class KnowledgeBaseQuerySet(models.QuerySet["KnowledgeBase"]):
    """Knowledge bases by reader."""

    def readable_by(self, user: Any, app_name: str) -> "KnowledgeBaseQuerySet":
        """Return the bases that the user may read in a conversation with the app."""
        of_people = Q(people=None) | Q(people__in=_groups_of(user))
        return self.filter(of_people, app_name__in=("", app_name))

    def owned_by(self, user: Any) -> "KnowledgeBaseQuerySet":
        """Return the bases whose documents the user may upload and delete outside of the admin."""
        return self.filter(owners__in=_groups_of(user))


def _groups_of(user: Any) -> models.QuerySet[Group]:
    groups: models.Manager[Group] | None = getattr(user, "groups", None)
    if groups is None:  # a user model without permissions
        return Group.objects.none()
    return groups.all()


class KnowledgeBase(models.Model):
    """Documents that agents search. An agent searches the bases that its toolset names, for people who may read them.

    Attributes:
        app_name: app in whose conversations the base is found; empty for all apps.
        people: group of the people for whom the base is found; None for everybody.
        owners: group of the people who upload and delete documents; None for staff alone.
    """

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, help_text="For staff.")
    app_name = models.CharField("app", max_length=128, blank=True, help_text="Empty for all apps.")
    # PROTECT: without the group everybody could read the base.
    people = models.ForeignKey(
        "auth.Group",
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        help_text="Group of the people who may read it; empty for everybody.",
    )
    owners = models.ForeignKey(
        "auth.Group",
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        null=True,
        blank=True,
        help_text="Group of the people who upload and delete documents in the chat's settings; empty for staff alone.",
    )
    created_at = models.DateTimeField(db_default=Now())

    objects = KnowledgeBaseQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class KnowledgeDocument(models.Model):
    """A document of a base, under the name of its file."""

    base = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="documents")
    name = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        """A base has each name once."""

        constraints = [models.UniqueConstraint(fields=["base", "name"], name="knowledge_document_once")]

    def __str__(self) -> str:
        return self.name


class VersionStatus(models.TextChoices):
    """States of a version.

    queued -> reading -> embedding -> current -> replaced
                 |           '---------------------^  (a newer version became current first)
                 '-> failed
    """

    QUEUED = "queued"
    READING = "reading"
    EMBEDDING = "embedding"
    CURRENT = "current"
    REPLACED = "replaced"
    FAILED = "failed"


def storage_path(version: "KnowledgeVersion", filename: str) -> str:
    """Return a random path: names of files must not reach the file system."""
    return f"{FOLDER}{uuid.uuid4().hex}"


class KnowledgeVersion(models.Model):
    """A file of a document. Searches find the passages of the current version, and of no other.

    Attributes:
        number: 1, 2, 3 … for each document.
        error: sentence for staff, why the file could not be read.
        uploaded_by: None once the account is deleted; until then the use of embeddings counts for this user.
        attempts: number of times that a worker began to read the file.
        sends: number of messages to the broker; `sent_at` is the time of the last.
    """

    document = models.ForeignKey(KnowledgeDocument, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    file = models.FileField(upload_to=storage_path, max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=VersionStatus.choices, db_default=VersionStatus.QUEUED)
    error = models.TextField(blank=True, db_default="")
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    attempts = models.PositiveIntegerField(db_default=0)
    sends = models.PositiveIntegerField(db_default=0)
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        """A document has each number once, and at most one current version."""

        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="knowledge_version_once"),
            models.UniqueConstraint(
                fields=["document"], condition=Q(status="current"), name="knowledge_version_one_current"
            ),
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=Q(status__in=("queued", "reading", "embedding")),
                name="knowledge_version_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document} v{self.number}"


@receiver(post_delete, sender=KnowledgeVersion)
def delete_bytes(instance: KnowledgeVersion, using: str, **kwargs: Any) -> None:
    delete_after_commit(instance.file, using)


class KnowledgePassageQuerySet(SearchableQuerySet["KnowledgePassage"]):
    """Passages that searches find."""

    def current_in(self, bases: Iterable[Any]) -> "KnowledgePassageQuerySet":
        """Return the passages of the current versions in the bases with these keys."""
        current = KnowledgeVersion.objects.filter(status=VersionStatus.CURRENT, document__base__in=bases)
        return self.filter(version__in=current.values("pk"))


class KnowledgePassage(SearchableText):
    """A piece of a version, of which searches return the text.

    Attributes:
        heading: headings above the passage, from the outermost.
        page: number of the page, from 1; None for files without pages.
    """

    version = models.ForeignKey(KnowledgeVersion, on_delete=models.CASCADE, related_name="passages")
    position = models.PositiveIntegerField()
    heading = models.CharField(max_length=500, blank=True)
    page = models.PositiveIntegerField(null=True)
    text = models.TextField()

    objects = KnowledgePassageQuerySet.as_manager()

    class Meta:
        """A version has each position once; a GIN index serves the search."""

        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["version", "position"], name="knowledge_passage_once"),
        ]
        indexes = [
            GinIndex(fields=["vector"], name="knowledge_passage_words"),
            models.Index(
                fields=["embedded_by", "id"], name="knowledge_passage_to_embed", condition=~Q(words="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version}, {self.place}" if self.place else str(self.version)

    @property
    def place(self) -> str:
        """The place in the document: page and heading, as far as there are any."""
        page = f"p. {self.page}" if self.page else ""
        return ": ".join(filter(None, (page, self.heading)))


class KnowledgeVector(TextVector):
    """Meaning of a passage with its heading."""

    passage = models.ForeignKey(
        KnowledgePassage,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="vectors",
    )

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["passage", "model"], name="knowledge_vector_unique_model"),
        ]

    def __str__(self) -> str:
        return f"vector of passage {self.passage_id}"


class KnowledgeSearch(models.Model):
    """A search by an agent in a session, deleted with the session.

    Attributes:
        bases: names of the searched bases that the user may read, with commas.
        found: number of passages found.
    """

    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="knowledge_searches"
    )
    invocation_id = models.CharField(max_length=255)
    agent_name = models.CharField(max_length=255)
    bases = models.TextField(blank=True)
    query = models.TextField()
    found = models.PositiveIntegerField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        """Searches of an invocation are found by its session."""

        default_permissions = ("view",)
        verbose_name_plural = "knowledge searches"

    def __str__(self) -> str:
        return f"search {self.pk}"


class KnowledgeUse(models.Model):
    """A passage that a search has found.

    Attributes:
        passage: None once the passage has been replaced or deleted; `place` still names it.
        rank: 1 for the best passage.
    """

    search = models.ForeignKey(KnowledgeSearch, on_delete=models.CASCADE, related_name="uses")
    document = models.ForeignKey(KnowledgeDocument, on_delete=models.CASCADE, related_name="uses")
    passage = models.ForeignKey(KnowledgePassage, on_delete=models.SET_NULL, null=True, related_name="uses")
    version_number = models.PositiveIntegerField()
    place = models.CharField(max_length=MAX_PLACE_LENGTH, blank=True)
    rank = models.PositiveIntegerField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"use {self.pk}"

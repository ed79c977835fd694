"""MemoryEntry: the text of an event of an earlier session, found by its words, and by its meaning as a vector."""

import hashlib
from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector, SearchVectorField
from django.db import models
from django.db.models import F, Q

CONFIG = "simple"
"""Text search configuration without stemming and stop words: the language of the texts is unknown, and the rules of
another language would lose words."""
Row = TypeVar("Row", bound=models.Model)


class SearchableQuerySet(models.QuerySet[Row]):
    """Rows with a column `vector` of words."""

    def with_any_word(self, words: Iterable[str]) -> Self:
        """Return the rows with any of the words."""
        return self.filter(vector=_any_of(words))

    def with_rank(self, words: Iterable[str]) -> Self:
        """Return the rows with a `rank` that is higher for better matches with the words."""
        return self.annotate(rank=SearchRank(F("vector"), _any_of(words)))


def _any_of(words: Iterable[str]) -> SearchQuery:
    # Quoted: a bare "or" or "-" among the words would be an operator of the query language.
    return SearchQuery(" or ".join(f'"{word}"' for word in words), config=CONFIG, search_type="websearch")


class SearchableText(models.Model):
    """Words of a text, and how far it has vectors. The subclass has the text, and the indexes.

    Attributes:
        words: the distinct words of the text, as `runtime.memory.memory_entry` splits it; the search looks at these.
        embedded_by: key of the newest `EmbeddingModel` that has made a vector of the text, or has refused it; 0 before.
    """

    words = models.TextField()
    vector = models.GeneratedField(
        expression=SearchVector("words", config=CONFIG), output_field=SearchVectorField(), db_persist=True
    )
    embedded_by = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        abstract = True


class MemoryEntryQuerySet(SearchableQuerySet["MemoryEntry"]):
    """Memory entries of a user."""

    def of(self, app_name: str, user_pk: Any) -> Self:
        return self.filter(app_name=app_name, user_id=user_pk)

    def facts(self) -> Self:
        """Return the facts that are not forgotten."""
        return self.exclude(source_event_id="").exclude(words="")


class MemoryEntry(SearchableText):
    """Text of an event, or a fact that a model has taken from it; deleted with its session.

    Attributes:
        content: ADK content as JSON, text parts only.
        event_id: id of the event; of a fact, an id of its own.
        source_event_id: id of the event that the fact is from; empty for the text of an event.
        uses: number of invocations that have found the entry; `last_used_at` is the time of the last.
    """

    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_memory_entries"
    )
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="memory_entries"
    )
    event_id = models.CharField(max_length=255)
    source_event_id = models.CharField(max_length=255, blank=True, db_default="", default="")
    author = models.CharField(max_length=255)
    said_at = models.DateTimeField()
    content = models.JSONField()
    uses = models.PositiveIntegerField(default=0, db_default=0)
    last_used_at = models.DateTimeField(null=True)

    objects = MemoryEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memory entries"
        constraints = [
            models.UniqueConstraint(fields=["session", "event_id"], name="memory_entry_unique_event"),
        ]
        indexes = [
            GinIndex(fields=["vector"], name="memory_entry_words"),
            models.Index(fields=["app_name", "user"], name="memory_entry_of_user"),
            models.Index(fields=["embedded_by", "id"], name="memory_entry_to_embed", condition=~Q(words="")),
        ]

    def __str__(self) -> str:
        return f"{self.author}: {self.words[:60]}"


class EmbeddingModel(models.Model):
    """A model that makes vectors of memory entries and of passages of knowledge bases.

    The newest row is that of the settings since the last `migrate`.

    Attributes:
        completed_at: when each of these texts had a vector of this model; until then an earlier model serves searches.
            None again for a model whose vectors a later one has replaced.
        claimed_until: time until which the process that makes vectors has the right to do so alone.
        tokens: sum of all calls.
        cost: sum of all calls, by `ADK["prices"]`.
    """

    name = models.CharField(max_length=255)
    dimensions = models.PositiveIntegerField()
    made_at = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True)
    claimed_until = models.DateTimeField(null=True)
    tokens = models.BigIntegerField(default=0)
    cost = models.FloatField(default=0.0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.name} with {self.dimensions} numbers"


class RealField(models.FloatField):  # type: ignore[type-arg]  # Django has no such class at run time
    """Number of four bytes, as in the vectors of `pgvector`."""

    def db_type(self, connection: Any) -> str:
        return "real"


class TextVector(models.Model):
    """Meaning of a text: a vector of length 1. The database deletes it with its text, to which the subclass refers.

    The numbers are an array, so that the table exists on every PostgreSQL. The index of a model casts them to the type
    of `pgvector`.
    """

    model = models.ForeignKey(EmbeddingModel, on_delete=models.CASCADE, related_name="+")
    numbers = ArrayField(RealField())

    class Meta:
        abstract = True


MEMORY_PARTS = 32
"""Parts of the index of memory. A search follows one of them, in which few vectors are of other users."""


def memory_part(user_pk: Any) -> int:
    """Return the part with the vectors of a user's entries, as the function `adk_part_of` of the database does."""
    return hashlib.sha256(str(user_pk).encode()).digest()[0] % MEMORY_PARTS


class MemoryVector(TextVector):
    """Meaning of an entry.

    Attributes:
        part: `memory_part` of the entry's user, set by a trigger.
    """

    part = models.SmallIntegerField(db_default=0, editable=False)
    entry = models.ForeignKey(
        MemoryEntry, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="vectors"
    )

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["entry", "model"], name="memory_vector_unique_model"),
        ]

    def __str__(self) -> str:
        return f"vector of entry {self.entry_id}"

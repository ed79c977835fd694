"""MemoryEntry: the text of an event of an earlier session, found by full text search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector, SearchVectorField
from django.db import models
from django.db.models import F

CONFIG = "simple"
"""Text search configuration without stemming and stop words: the language of the texts is unknown, and the rules of
another language would lose words."""


class MemoryEntryQuerySet(models.QuerySet["MemoryEntry"]):
    """Memory entries of a user, and a search among them."""

    def of(self, app_name: str, user_pk: Any) -> MemoryEntryQuerySet:
        return self.filter(app_name=app_name, user_id=user_pk)

    def best_first(self, words: Iterable[str]) -> MemoryEntryQuerySet:
        """Return the entries with any of the words, the best match first; of equal matches, the newest first."""
        # Quoted: a bare "or" or "-" among the words would be an operator of the query language.
        query = SearchQuery(
            " or ".join(f'"{word}"' for word in words), config=CONFIG, search_type="websearch"
        )
        found = self.filter(vector=query).annotate(rank=SearchRank(F("vector"), query))
        return found.order_by("-rank", "-said_at", "-id")


class MemoryEntry(models.Model):
    """Text of an event, deleted with its session.

    Attributes:
        content: ADK content as JSON, text parts only.
        words: the distinct words of the text, as `runtime.memory.recall` splits it; the search looks at these.
    """

    app_name = models.CharField(max_length=128)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="adk_memory_entries"
    )
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="memory_entries"
    )
    event_id = models.CharField(max_length=255)
    author = models.CharField(max_length=255)
    said_at = models.DateTimeField()
    content = models.JSONField()
    words = models.TextField()
    vector = models.GeneratedField(
        expression=SearchVector("words", config=CONFIG),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    objects = MemoryEntryQuerySet.as_manager()

    class Meta:
        """One entry for an event; a GIN index serves the search."""

        verbose_name_plural = "memory entries"
        constraints = [
            models.UniqueConstraint(fields=["session", "event_id"], name="memory_entry_unique_event"),
        ]
        indexes = [
            GinIndex(fields=["vector"], name="memory_entry_words"),
            models.Index(fields=["app_name", "user"], name="memory_entry_of_user"),
        ]

    def __str__(self) -> str:
        return f"{self.author}: {self.words[:60]}"

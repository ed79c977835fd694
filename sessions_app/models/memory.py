"""MemoryEntry: what one event of an earlier conversation said, found by its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector, SearchVectorField
from django.db import models
from django.db.models import F

CONFIG = "simple"
"""The text search configuration: words as they are. Which language people write is not known, and a stemmer or a list
of stop words for the wrong one loses what was said."""


class MemoryEntryQuerySet(models.QuerySet["MemoryEntry"]):
    """Whose memory, and what of it."""

    def of(self, app_name: str, user_pk: Any) -> MemoryEntryQuerySet:
        """What an app remembers of a user."""
        return self.filter(app_name=app_name, user_id=user_pk)

    def best_first(self, words: Iterable[str]) -> MemoryEntryQuerySet:
        """The entries that have any of the words, those with most of them first, then the newest."""
        query = SearchQuery(
            " or ".join(f'"{word}"' for word in words), config=CONFIG, search_type="websearch"
        )
        found = self.filter(vector=query).annotate(rank=SearchRank(F("vector"), query))
        return found.order_by("-rank", "-said_at", "-id")


class MemoryEntry(models.Model):
    """The text of one event.

    It goes with its session: what a person deletes is forgotten.

    Attributes:
        event_id: of the ADK event; a session's event is remembered once.
        content: as ADK content JSON, text parts only.
        words: its distinct words as `runtime.memory.recall` finds them; what is searched.
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
        """Found by words; a session's event is there once."""

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

"""Event: a row of a session's append-only log."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.postgres.indexes import GinIndex, HashIndex
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left


# Migrations create these functions, in PL/pgSQL: a connection keeps the plans of such a function. PostgreSQL would
# inline a function in SQL again for each INSERT, which takes twice the CPU of an insert (docs/performance.md).
class _OfBody(Func):
    """Call of an SQL function with the event's JSON."""

    def __init__(self, function: str, output_field: models.Field) -> None:  # type: ignore[type-arg]
        super().__init__(F("body"), function=function, output_field=output_field)


def _text(key: str) -> KeyTextTransform:
    return KeyTextTransform(key, "body")


CONFIG = "simple"
"""Text search configuration without stemming and stop words: the language of the texts is unknown."""
SEARCHED_CHARACTERS = 100_000
"""Characters of a text within reach of a search: PostgreSQL refuses to index a text with very many words."""
_WORDS = SearchVector(Left("text", SEARCHED_CHARACTERS), config=CONFIG)
_IS_REWIND = Q(body__actions__has_key="rewindBeforeInvocationId")
_SETS_SHARED_STATE = Q(body__actions__stateDelta__regex='"(app|user):')
"""Events with a possible change of app or user state. The admin reads them to show the state at an earlier event."""


class EventKind(models.TextChoices):
    """Main content of an event, for lists and filters."""

    MESSAGE = "message"
    CALL = "call"
    RESPONSE = "response"
    ERROR = "error"
    STATE = "state"


RARE_KINDS = (EventKind.ERROR, EventKind.STATE)
"""Kinds with few events among the newest: a list filtered by such a kind needs an index."""


class EventQuerySet(models.QuerySet["Event"]):
    """Parts of a session's log."""

    def after(self, seq: int) -> EventQuerySet:
        """Return the events after a sequence number, oldest first."""
        return self.filter(seq__gt=seq).order_by("seq")

    def rewinds(self) -> EventQuerySet:
        """Return the rewind events (contract R3); a partial index finds them."""
        return self.filter(_IS_REWIND)

    def with_state_delta(self) -> EventQuerySet:
        return self.filter(body__actions__has_key="stateDelta").exclude(body__actions__stateDelta={})

    def with_words(self, prefixes: Iterable[str]) -> EventQuerySet:
        """Return the events whose text has a word with each of the prefixes.

        Args:
            prefixes: letters and digits only, because they become part of the query.
        """
        query = SearchQuery(
            " & ".join(f"{prefix}:*" for prefix in prefixes), config=CONFIG, search_type="raw"
        )
        return self.with_text(query)

    def with_text(self, query: SearchQuery) -> EventQuerySet:
        """Return the events whose text matches a query of the configuration `CONFIG`."""
        return self.filter(text__isnull=False).annotate(words=_WORDS).filter(words=query)


class Event(models.Model):
    """A committed event.

    Attributes:
        seq: 1, 2, 3 … in the session, without gaps.
        body: the event's JSON as the ADK API has it (camelCase); PostgreSQL derives the generated columns from it.
        before: values of the state delta's keys, with their prefixes, before the delta was applied; new keys are
            absent.
        model_call: parts of model requests missing from the log, see `docs/traces.md`; null for an event without model
            calls.
        hash: hash over the hash of the event before and this event, see `history.integrity`; written by a trigger.
    """

    session = models.ForeignKey(
        "sessions_app.Session",
        on_delete=models.DO_NOTHING,  # `adk_erase_session` deletes the events
        related_name="events",
        db_index=False,  # `event_unique_seq` begins with it
    )
    seq = models.BigIntegerField()
    body = models.JSONField()
    before = models.JSONField(null=True)
    model_call = models.JSONField(null=True)
    hash = models.BinaryField(null=True)
    event_id = models.GeneratedField(
        expression=_text("id"), output_field=models.TextField(null=True), db_persist=True
    )
    author = models.GeneratedField(
        expression=_text("author"), output_field=models.TextField(null=True), db_persist=True
    )
    invocation_id = models.GeneratedField(
        expression=_text("invocationId"), output_field=models.TextField(null=True), db_persist=True
    )
    kind = models.GeneratedField(
        expression=_OfBody("adk_event_kind", models.TextField()),
        output_field=models.TextField(null=True, choices=EventKind.choices),
        db_persist=True,
    )
    text = models.GeneratedField(
        expression=_OfBody("adk_event_text", models.TextField()),
        output_field=models.TextField(null=True),
        db_persist=True,
    )
    happened_at = models.GeneratedField(
        expression=_OfBody("adk_event_time", models.DateTimeField()),
        output_field=models.DateTimeField(null=True),
        db_persist=True,
    )
    prompt_tokens = models.GeneratedField(
        expression=_OfBody("adk_event_prompt_tokens", models.IntegerField()),
        output_field=models.IntegerField(null=True),
        db_persist=True,
    )
    output_tokens = models.GeneratedField(
        expression=_OfBody("adk_event_output_tokens", models.IntegerField()),
        output_field=models.IntegerField(null=True),
        db_persist=True,
    )

    objects = EventQuerySet.as_manager()

    class Meta:
        """The order of the log is unique in a session."""

        ordering = ["session", "seq"]
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="event_unique_seq")]
        indexes = [
            # Partial: few events are rewinds, and each page of a chat looks for all of them.
            models.Index(fields=["session", "seq"], name="event_rewinds", condition=_IS_REWIND),
            models.Index(fields=["id"], name="event_shared_state", condition=_SETS_SHARED_STATE),
            GinIndex(_WORDS, name="event_words", condition=Q(text__isnull=False)),
            HashIndex(fields=["event_id"], name="event_by_id"),  # an id may be too long for a B-tree
            models.Index(fields=["kind", "-id"], name="event_of_rare_kind", condition=Q(kind__in=RARE_KINDS)),
        ]

    def __str__(self) -> str:
        return f"#{self.seq} {self.author}"

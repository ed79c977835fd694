"""Event: a row of a session's append-only log, and the words that searches find it by."""

from typing import Any, Self

from django.contrib.postgres.indexes import GinIndex, HashIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from runtime.events.allowances import WITHDRAWAL_KEY
from runtime.events.calls import REQUEST_CONFIRMATION


# Migrations create these functions, in PL/pgSQL: a connection keeps the plans of such a function. PostgreSQL would
# inline a function in SQL again for each INSERT, which takes twice the CPU of an insert (docs/performance.md).
class _OfBody(Func):
    """Call of an SQL function with the event's JSON."""

    def __init__(self, function: str, output_field: models.Field) -> None:  # type: ignore[type-arg]
        super().__init__(F("body"), function=function, output_field=output_field)


def _text(key: str) -> KeyTextTransform:
    return KeyTextTransform(key, "body")


class WordsOf(Func):
    """The words of a column: every mark of ASCII separates words."""

    function = "adk_words"
    output_field = SearchVectorField()


CONFIG = "simple"
"""Text search configuration without stemming and stop words: the language of the texts is unknown."""
DETAILS = _OfBody("adk_event_details", models.TextField())
"""The beginning of what an event says besides its text, as JSON values: error, names, arguments, results, files."""
_WORDS = Func(F("text"), DETAILS, function="adk_event_words", output_field=SearchVectorField())
_IS_REWIND = Q(body__actions__has_key="rewindBeforeInvocationId")
_SETS_SHARED_STATE = Q(body__actions__stateDelta__regex='"(app|user):')
"""Events with a possible change of app or user state. The admin reads them to show the state at an earlier event."""
_CONFIRMS = Q(body__content__parts__contains=[{"functionResponse": {"name": REQUEST_CONFIRMATION}}])
# The answer may be one text of JSON. Few answers are confirmations: only these are read as text.
_ALLOWS_SESSION = _CONFIRMS & Q(body__content__regex=r"for(_s|S)ession")
_CHANGES_ALLOWANCES = Q(author="user") & (_ALLOWS_SESSION | Q(body__customMetadata__has_key=WITHDRAWAL_KEY))
"""Answers that may allow later calls, and withdrawals of such allowances (contract T7)."""


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

    def after(self, seq: int) -> Self:
        """Return the events after a sequence number, oldest first."""
        return self.filter(seq__gt=seq).order_by("seq")

    def rewinds(self) -> Self:
        """Return the rewind events (contract R3); a partial index finds them."""
        return self.filter(_IS_REWIND)

    def changing_allowances(self) -> Self:
        """Return the answers that may allow later calls, and the withdrawals; a partial index finds them."""
        return self.filter(_CHANGES_ALLOWANCES)

    def with_state_delta(self) -> Self:
        return self.filter(body__actions__has_key="stateDelta").exclude(body__actions__stateDelta={})

    def without_words(self) -> models.QuerySet[Any]:
        """Return the events whose words are not in `EventWords` yet, with their words as `words`.

        Filter by few sessions: see `SessionQuerySet.without_words`.
        """
        # As an annotation: in a filter, Django would leave out the sessions without figures.
        counted = self.annotate(words_seq=Coalesce("session__figures__words_seq", 0))
        return counted.filter(seq__gt=F("words_seq")).annotate(words=_WORDS)


class Event(models.Model):
    """A committed event.

    Attributes:
        seq: 1, 2, 3 … in the session, without gaps.
        body: the event's JSON as the ADK API has it (camelCase); PostgreSQL derives the generated columns from it.
        before: values of the state delta's keys, with their prefixes, before the delta was applied; new keys are
            absent.
        model_call: parts of model requests missing from the log, see `docs/traces.md`; null for an event without model
            calls.
        hash: hash over the hash of the event before and this event, see `history.evidence.integrity`; written by a
            trigger.
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
        ordering = ["session", "seq"]
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="event_unique_seq")]
        indexes = [
            # Partial: few events are rewinds, and each page of a chat looks for all of them.
            models.Index(fields=["session", "seq"], name="event_rewinds", condition=_IS_REWIND),
            models.Index(fields=["id"], name="event_shared_state", condition=_SETS_SHARED_STATE),
            models.Index(fields=["session", "seq"], name="event_allowances", condition=_CHANGES_ALLOWANCES),
            HashIndex(fields=["event_id"], name="event_by_id"),  # an id may be too long for a B-tree
            models.Index(fields=["kind", "-id"], name="event_of_rare_kind", condition=Q(kind__in=RARE_KINDS)),
        ]

    def __str__(self) -> str:
        return f"#{self.seq} {self.author}"


class EventWords(models.Model):
    """Words of an event, stored by the sweep of the figures: an index of the events would make each append dearer.

    Attributes:
        words: the words of the text with the weight A, of the details with B.
        details: see `DETAILS`.
    """

    event = models.OneToOneField(
        Event, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    # Deletes the words of an erased session; the sweep cannot store words of a session without a row.
    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="event_words")
    words = SearchVectorField()
    details = models.TextField()

    class Meta:
        default_permissions = ()
        indexes = [GinIndex(fields=["words"], name="words_of_event")]

    def __str__(self) -> str:
        return f"words of event {self.event_id}"

"""Event: one row of a session's append-only log."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Func, Q
from django.db.models.fields.json import KeyTextTransform


class _OfBody(Func):
    """One of the SQL functions over an event's JSON that the first migration creates."""

    def __init__(self, function: str, output_field: models.Field) -> None:  # type: ignore[type-arg]
        super().__init__(F("body"), function=function, output_field=output_field)


def _text(key: str) -> KeyTextTransform:
    return KeyTextTransform(key, "body")


_IS_REWIND = Q(body__actions__has_key="rewindBeforeInvocationId")


class EventKind(models.TextChoices):
    """What an event is, at a glance."""

    MESSAGE = "message"
    CALL = "call"
    RESPONSE = "response"
    ERROR = "error"
    STATE = "state"


class EventQuerySet(models.QuerySet["Event"]):
    """Stretches of a log."""

    def after(self, seq: int) -> EventQuerySet:
        """What came later, oldest first."""
        return self.filter(seq__gt=seq).order_by("seq")

    def rewinds(self) -> EventQuerySet:
        """Those that go back to before an invocation (spec R3); few, and found by an index of their own."""
        return self.filter(_IS_REWIND)


class Event(models.Model):
    """What happened, as JSON, and what it changed.

    Attributes:
        seq: 1, 2, 3 ... in its session, without gaps.
        body: the event's JSON as the ADK API gives it (camelCase); the columns below are derived from it.
        before: what the keys of the state delta held when it was applied, with their prefixes; keys that were
            new are absent.
        hash: over the session's chain at this event, and `before`; null when the append statement did not write
            the row.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="events")
    seq = models.BigIntegerField()
    body = models.JSONField()
    before = models.JSONField(null=True)
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
        """The log's order is the key that everything reads by."""

        ordering = ["session", "seq"]
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="event_unique_seq")]
        indexes = [models.Index(fields=["session", "seq"], name="event_rewinds", condition=_IS_REWIND)]

    def __str__(self) -> str:
        return f"#{self.seq} {self.author}"

"""Model requests of past steps, rebuilt from their records and the log (contract M6).

A request is mostly the log, so storing whole requests would store a long conversation once for each step. The record of
a call has the texts that the log lacks, and positions in the contents that the log gives.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pydantic
from django.db.models import F, Func, IntegerField, TextField
from django.db.models.functions import Cast

from runtime import types
from runtime.artifacts.referenced_artifacts import load_references, positions_of_files
from runtime.engine.request_record import RebuiltRequest, Record, derive, rebuild, rebuild_child
from runtime.events.event import Event as RuntimeEvent
from sessions_app.base.codec import event_from_json
from sessions_app.invocations.message_event import find_message_event, without_failures
from sessions_app.models import Event, Invocation, RequestText, Session
from sessions_app.process import threads
from sessions_app.store.artifact_service import DjangoArtifactService

_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class Bounds:
    """Limits on the part of the log to read for a page: number and stored bytes of the newest events."""

    events: int
    bytes: int


@dataclass(frozen=True)
class RebuiltStep:
    """The request of a step.

    Attributes:
        is_whole: False when the log was read in part: the first contents may be missing.
    """

    request: RebuiltRequest
    is_whole: bool


def rebuild_request(session: Session, answer: Event, bounds: Bounds | None = None) -> RebuiltStep | None:
    """Return the request behind an event; None for an event without the record of a model call.

    Args:
        answer: the event, with its `model_call` and `invocation_id`.
        bounds: part of the log to read; None for the whole log.
    """
    record = answer.model_call
    if not isinstance(record, dict) or not isinstance(record.get("seq"), int):
        return None
    events, is_whole = _read_events_until(session.pk, record["seq"], bounds)
    if record.get("hides_failures"):
        events = _without_earlier_failures(session, answer, events)
    derived = _load_files(session, derive(record, events))
    return RebuiltStep(
        rebuild(_shift_positions(record, derived, is_whole), derived, texts_of([record])), is_whole
    )


def rebuild_child_request(answer: Event, number: int) -> tuple[RebuiltRequest, str] | None:
    """Return a request of an agent that ran as a tool, and the JSON of the answer; None without a record.

    Args:
        answer: the event with the tool's response, with its `model_call`.
        number: index among the model calls recorded with the event.
    """
    record = answer.model_call
    records = record.get("children") if isinstance(record, dict) else None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        return None
    if not 0 <= number < len(records):
        return None
    texts = texts_of(records)
    return rebuild_child(records, number, texts), texts.get(str(records[number].get("answer")), "")


def texts_of(records: Sequence[Record]) -> dict[str, str]:
    """Return the texts of the records, by id, in a single query; deleted texts are absent."""
    names = {value for record in records for value in _text_ids(record)}
    found = RequestText.objects.filter(pk__in=names).values_list("pk", "text")
    return {pk.hex: text for pk, text in found}


def _text_ids(record: Mapping[str, Any]) -> list[str]:
    pieces = [piece for piece in record.get("contents") or () if isinstance(piece, str)]
    named = [record.get(name) for name in ("system", "tools", "config", "answer")]
    return [name for name in [*pieces, *named] if isinstance(name, str) and _ID.fullmatch(name)]


def _read_events_until(session_id: UUID, last: int, bounds: Bounds | None) -> tuple[list[RuntimeEvent], bool]:
    """Return the newest events up to the `seq` `last`, oldest first, and True if no earlier event is left out."""
    rows = Event.objects.filter(session=session_id, seq__lte=last).order_by("-seq")
    first = 1
    if bounds:
        # The size of the stored, compressed value is known without reading the body.
        size = Func(F("body"), function="pg_column_size", output_field=IntegerField())
        room = bounds.bytes
        first = last + 1
        for seq, stored in rows.annotate(size=size).values_list("seq", "size")[: bounds.events]:
            room -= stored
            if room < 0:
                break
            first = seq
    bodies = rows.filter(seq__gte=first).values_list(Cast("body", TextField()), flat=True)
    events = list(filter(None, map(_read_event, reversed(bodies))))
    return events, first <= 1


def _read_event(body: str) -> RuntimeEvent | None:
    try:
        return event_from_json(body)
    except pydantic.ValidationError:  # An event that cannot be read was part of no request.
        return None


def _without_earlier_failures(
    session: Session, answer: Event, events: list[RuntimeEvent]
) -> list[RuntimeEvent]:
    """Return the events without failures of earlier attempts, as sent to the model by a later attempt."""
    invocation = Invocation.objects.filter(session=session, invocation_id=answer.invocation_id).first()
    message = invocation.message if invocation else {}
    return without_failures(find_message_event(answer.invocation_id or "", message, events), events)


def _load_files(session: Session, contents: list[types.Content]) -> list[types.Content]:
    positions = positions_of_files(contents)
    if not positions:
        return contents
    loading = load_references(DjangoArtifactService(), session.runtime_args, contents, positions)
    return threads.run(loading)


def _shift_positions(record: Record, derived: Sequence[types.Content], is_whole: bool) -> Record:
    """Return the record with its positions counted from the first content of the read part of the log."""
    pieces = record.get("contents")
    if is_whole or not pieces:
        return record
    ends = [piece[1] for piece in pieces if isinstance(piece, list)]
    missing = max(0, max(ends, default=0) - len(derived))
    moved: list[Any] = []
    for piece in pieces:
        if isinstance(piece, str):
            moved.append(piece)
        else:
            moved.append([max(0, position - missing) for position in piece])
    return {**record, "contents": moved}

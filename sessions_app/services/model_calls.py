"""Model calls of a run on their way into the database: each is stored with the event of its answer (contract M6)."""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import suppress
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from runtime.engine.request_record import Record, record_request
from runtime.events.event import Event
from runtime.run_config import ModelCall
from sessions_app.codec import storable_values
from sessions_app.db.recorded_call import RecordedCall
from sessions_app.process_metrics import observe_first_word

logger = logging.getLogger(__name__)
MOST_KNOWN_TEXTS = 50_000

_known_texts: OrderedDict[tuple[UUID, str], None] = OrderedDict()
"""Texts that this process has stored, by session and id; the least recently used are forgotten."""


class ModelCallLog:
    """The model calls of one execution that no event has taken yet.

    Args:
        hides_failures: True when the contents leave out how earlier attempts at the invocation failed.
    """

    def __init__(self, session_id: UUID, *, hides_failures: bool) -> None:
        self._session_id = session_id
        self._hides_failures = hides_failures
        self._calls: dict[str, ModelCall] = {}

    def note(self, call: ModelCall) -> None:
        """Keep a call that begins."""
        self._calls[call.event_id] = call

    def take(self, event: Event) -> RecordedCall | None:
        """Return the record of the call that the event answers, or that ended without an answer because of it."""
        call = self._calls.pop(event.id, None)
        if call is None and self._calls and (event.error_code or event.interrupted):
            call = self._calls.pop(next(iter(self._calls)))
        try:
            return self._record(call) if call else None
        except Exception:  # An answer must not be lost over a trace.
            logger.exception("The model request of event %s cannot be recorded", event.id)
            return None

    def stored(self, call: RecordedCall) -> None:
        """Remember that the texts of a call are stored."""
        for name in call.texts:
            _known_texts[self._session_id, name] = None
        while len(_known_texts) > MOST_KNOWN_TEXTS:
            _known_texts.popitem(last=False)

    def _record(self, call: ModelCall) -> RecordedCall:
        record, texts = record_request(call)
        record["at"] = call.started_at
        if call.first_word_seconds is not None:
            record["first_word"] = round(call.first_word_seconds, 6)
            observe_first_word(call.first_word_seconds)
        if call.failed_attempts:
            record["failed_attempts"] = len(call.failed_attempts)
        if self._hides_failures:
            record["hides_failures"] = True
        return RecordedCall(
            _storable_json(record),
            {name: text for name, text in texts.items() if not self._is_known(name)},
        )

    def _is_known(self, name: str) -> bool:
        key = self._session_id, name
        if key not in _known_texts:
            return False
        _known_texts.move_to_end(key)
        return True


def _storable_json(record: Record) -> str:
    """Return the record as JSON for a jsonb column. Almost none has a character that must be replaced."""
    with suppress(PydanticSerializationError):
        text = to_json(record).decode()
        if "\\u0000" not in text:
            return text
    return to_json(storable_values(record)).decode()

"""Model calls of an execution until they are stored, each with the event of its answer (contract M6).

The record of a call is a column of the event's row, written by the statement of the append: a trace needs no write of
its own, and none exists for an answer which was not committed.
"""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_json

from runtime.engine.request_record import Record, record_children, record_request
from runtime.events.event import Event as RuntimeEvent
from runtime.run_config import ModelCall
from runtime.valid_text import storable_values
from sessions_app.process.process_metrics import observe_first_word
from sessions_app.store.sql.event_rows import RecordedCall

logger = logging.getLogger(__name__)
MAX_KNOWN_TEXTS = 50_000

_known_texts: OrderedDict[tuple[UUID, str], None] = OrderedDict()
"""Texts stored by this process, by session and id; the least recently used are forgotten."""


class ModelCallLog:
    """Model calls of an execution until they are stored.

    Args:
        hides_failures: True if the contents leave out the failures of earlier attempts at the invocation.
    """

    def __init__(self, session_id: UUID, *, hides_failures: bool) -> None:
        self._session_id = session_id
        self._hides_failures = hides_failures
        self._calls: dict[str, ModelCall] = {}
        self._child_calls: dict[str, list[ModelCall]] = {}

    def note(self, call: ModelCall) -> None:
        """Keep a call that begins."""
        # A call of an agent that runs as a tool has no event in this log: it is stored with the tool's response.
        if call.inside:
            self._child_calls.setdefault(call.inside[0], []).append(call)
        else:
            self._calls[call.event_id] = call

    def take(self, event: RuntimeEvent) -> RecordedCall | None:
        """Return the record of the model call which the event answers; None without a call.

        The record includes the calls of agents that ran as tools, when their answers are in the event.
        """
        call = self._calls.pop(event.id, None)
        # An error or an interruption ends a call without an answer; its event has another id.
        if call is None and self._calls and (event.error_code or event.interrupted):
            call = self._calls.pop(next(iter(self._calls)))
        try:
            children = self._take_children(event) if self._child_calls else []
            return self._record(call, children) if call or children else None
        except Exception:  # The answer is stored even without its trace.
            logger.exception("The model request of event %s cannot be recorded", event.id)
            return None

    def remember_texts(self, call: RecordedCall) -> None:
        """Remember the stored texts of a call: later records of this process only refer to them."""
        for name in call.texts:
            _known_texts[self._session_id, name] = None
        while len(_known_texts) > MAX_KNOWN_TEXTS:
            _known_texts.popitem(last=False)

    def _take_children(self, event: RuntimeEvent) -> list[ModelCall]:
        answered = [response.id or "" for response in event.get_function_responses()]
        return [call for call_id in answered for call in self._child_calls.pop(call_id, [])]

    def _record(self, call: ModelCall | None, children: Sequence[ModelCall]) -> RecordedCall:
        record: Record = {}
        texts: dict[str, str] = {}
        if call:
            record, texts = record_request(call)
            record |= _times_of(call)
            if call.first_word_seconds is not None:
                observe_first_word(call.first_word_seconds)
            if self._hides_failures:
                record["hides_failures"] = True
        if children:
            records, texts_of_children = record_children(children)
            record["children"] = [
                child_record | _times_of(child) | _end_of(child)
                for child_record, child in zip(records, children, strict=True)
            ]
            texts |= texts_of_children
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


def _times_of(call: ModelCall) -> Record:
    times: Record = {"at": call.started_at}
    if call.first_word_seconds is not None:
        times["first_word"] = round(call.first_word_seconds, 6)
    if call.failed_attempts:
        times["failed_attempts"] = len(call.failed_attempts)
    return times


def _end_of(call: ModelCall) -> Record:
    """Return the fields of the answer to an agent that ran as a tool, for a trace."""
    answer = call.answer
    if answer is None:
        return {}
    end: Record = {"end": answer.timestamp}
    if answer.usage_metadata:
        end["usage"] = answer.usage_metadata.model_dump(mode="json", by_alias=True, exclude_none=True)
    if answer.model_version:
        end["version"] = answer.model_version
    if answer.error_code:
        end["error"] = str(answer.error_code)
    return end


def _storable_json(record: Record) -> str:
    # NUL and lone surrogates cannot be stored as jsonb. They are rare: copying every record would cost more.
    with suppress(PydanticSerializationError):
        text = to_json(record).decode()
        if "\\u0000" not in text:
            return text
    return to_json(storable_values(record)).decode()

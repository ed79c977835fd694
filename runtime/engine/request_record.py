"""Record of a model request: what cannot be derived from the log, and the way back to the request (contract M6).

A request is mostly history, which the log has. Its record names the last event, the agent and the branch, refers by
hash to the texts that repeat (instructions, declarations of tools, configuration), and says which contents are those of
the log. Contents that tools, plugins and callbacks have added or changed are texts, too, without large files.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import is_
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json

from runtime import types
from runtime.engine.contents import derive_contents
from runtime.events.event import Event
from runtime.models.json_schema import json_schema_of
from runtime.run_config import ModelCall

Json = Any
Record = dict[str, Json]
MAX_FILE_LENGTH = 100_000
"""Characters of base64 of the largest file that a record keeps."""
_NOT_IN_CONFIG = {"system_instruction", "tools", "response_schema", "http_options"}
"""Fields of the configuration with a place of their own, and the options of the connection, which hold secrets."""
_EMPTY_JSON = {"null", '""', "[]", "{}"}
"""Parts of a configuration that a record leaves out."""


@dataclass(frozen=True)
class RebuiltRequest:
    """A model request, as JSON values.

    Attributes:
        contents: the contents; None in the place of one whose text is gone.
    """

    model: str | None
    system_instruction: Json
    tools: Json
    config: Json
    contents: list[Json]


def record_request(call: ModelCall) -> tuple[Record, dict[str, str]]:
    """Return the record of a request as JSON, and the texts that it refers to by hash.

    The record of an agent that runs as a tool also has the model's answer: the agent's events are not in the log.
    """
    texts: dict[str, str] = {}

    def keep(text: str) -> str:
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        texts[name] = text
        return name

    record: Record = {"agent": call.agent, "model": call.model}
    if call.inside:
        record["inside"] = list(call.inside)
    else:
        record["seq"] = call.last_seq
    if call.branch:
        record["branch"] = call.branch
    if call.this_turn_only:
        record["this_turn_only"] = True
    for name, text in _parts_of_config(call.config):
        if text not in _EMPTY_JSON:
            record[name] = keep(text)
    if pieces := _pieces(call.contents, call.derived, lambda content: keep(_text_of_content(content))):
        record["contents"] = pieces
    if call.inside and call.answer:
        record["answer"] = keep(_as_text(call.answer))
    return record, texts


def record_children(calls: Sequence[ModelCall]) -> tuple[list[Record], dict[str, str]]:
    """Return the records of agents that ran as tools, in their order, and the texts that these refer to.

    A record refers to the contents of the agent's call before, so that many calls do not repeat them.
    """
    records: list[Record] = []
    texts: dict[str, str] = {}
    before: dict[object, Sequence[types.Content]] = {}
    for call in calls:
        call.derived = before.get((call.inside, call.agent, call.branch), ())
        before[call.inside, call.agent, call.branch] = call.contents
        record, own_texts = record_request(call)
        records.append(record)
        texts |= own_texts
    return records, texts


def rebuild_child(records: Sequence[Record], number: int, texts: Mapping[str, str]) -> RebuiltRequest:
    """Return the request of one of the records that `record_children` has made."""
    wanted = _child_key(records[number])
    request = RebuiltRequest(None, None, None, None, [])
    for record in records[: number + 1]:
        if _child_key(record) == wanted:
            request = rebuild(record, request.contents, texts)
    return request


def _child_key(record: Record) -> tuple[Json, ...]:
    return record.get("inside"), record.get("agent"), record.get("branch")


def derive(record: Record, events: Sequence[Event]) -> list[types.Content]:
    """Return the contents that the log gives for a request, without the files that they refer to.

    Args:
        events: the session's events up to the record's `seq`, at least from its latest full summary on.
    """
    turn_only = bool(record.get("this_turn_only"))
    return derive_contents(events, record["agent"], record.get("branch"), this_turn_only=turn_only)


def rebuild(
    record: Record, derived: Sequence[types.Content | Json], texts: Mapping[str, str]
) -> RebuiltRequest:
    """Return the request of a record.

    Args:
        derived: the contents that `derive` returns, with their files.
        texts: texts by hash; a value whose text is missing becomes None.
    """

    def text(name: Json) -> Json:
        found = texts.get(name) if name else None
        return None if found is None else json.loads(found)

    contents: list[Json] = []
    for piece in record.get("contents", [[0, len(derived)]]):
        if isinstance(piece, str):
            contents.append(text(piece))
        else:
            contents += [as_json(content) for content in derived[piece[0] : piece[1]]]
    return RebuiltRequest(
        model=record.get("model"),
        system_instruction=text(record.get("system")),
        tools=text(record.get("tools")),
        config=text(record.get("config")),
        contents=contents,
    )


def as_json(value: object, *, exclude: set[str] | None = None) -> Json:
    """Return a value of a request as JSON values; what JSON cannot hold is named."""
    if isinstance(value, BaseModel):
        return value.model_dump(
            mode="json", by_alias=True, exclude=exclude, exclude_none=True, fallback=repr, warnings=False
        )
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value if isinstance(value, str | int | float | dict | None) else repr(value)


def _parts_of_config(config: types.GenerateContentConfig) -> Iterator[tuple[str, str]]:
    """Yield the parts of a configuration, as JSON text, with the names of their fields in a record."""
    yield "system", _as_text(config.system_instruction)
    yield "tools", _as_text(config.tools)
    if config.response_schema is None:
        yield "config", _as_text(config, exclude=_NOT_IN_CONFIG)
    else:
        rest = json.loads(_as_text(config, exclude=_NOT_IN_CONFIG))
        yield "config", _as_text({**rest, "responseSchema": json_schema_of(config.response_schema)})


def _text_of_content(content: types.Content) -> str:
    """Return the content as JSON text, with hashes in the place of large files, which artifacts hold."""
    text = _as_text(content)
    if len(text) <= MAX_FILE_LENGTH:
        return text
    value = json.loads(text)
    for part in value.get("parts") or []:
        blob = part.get("inlineData") or {}
        if len(data := blob.get("data") or "") > MAX_FILE_LENGTH:
            digest = hashlib.sha256(urlsafe_b64decode(data)).hexdigest()
            part["inlineData"] = {"mimeType": blob.get("mimeType"), "sha256": digest}
    return _as_text(value)


def _pieces(
    sent: Sequence[types.Content], derived: Sequence[types.Content], keep: Callable[[types.Content], str]
) -> list[Json] | None:
    """Return the sent contents as ranges of the derived ones and as texts; None when they are the derived ones."""
    # Fast path: without hooks and additions a long history is the same objects.
    if len(sent) == len(derived) and all(map(is_, sent, derived)):
        return None
    positions = _positions(sent, derived)
    if positions == list(range(len(derived))):
        return None
    pieces: list[Json] = []
    numbered = enumerate(positions)
    # Neighbours that are neighbours in the log have the same difference between both positions.
    for difference, group in groupby(numbered, lambda item: None if item[1] is None else item[1] - item[0]):
        items = list(group)
        if difference is None:
            pieces += [keep(sent[index]) for index, _position in items]
        else:
            first = items[0][0] + difference
            pieces.append([first, first + len(items)])
    return pieces


def _positions(sent: Sequence[types.Content], derived: Sequence[types.Content]) -> list[int | None]:
    """Return the position of each sent content among the derived ones; None for one that is not among them.

    Contents that hooks might have changed are copies: those at the beginning and at the end are compared.
    """
    by_identity = {id(content): position for position, content in enumerate(derived)}
    positions: list[int | None] = [by_identity.get(id(content)) for content in sent]
    shorter = min(len(sent), len(derived))
    from_end = len(derived) - len(sent)
    for index in range(shorter):
        if positions[index] is None and sent[index] != derived[index]:
            break
        positions[index] = index if positions[index] is None else positions[index]
    for index in range(len(sent) - 1, len(sent) - 1 - shorter, -1):
        if positions[index] is None and sent[index] != derived[index + from_end]:
            break
        positions[index] = index + from_end if positions[index] is None else positions[index]
    return positions


def _as_text(value: object, *, exclude: set[str] | None = None) -> str:
    """Return a value of a request as JSON that UTF-8 can hold, with escapes in place of NUL and of lone surrogates."""
    try:
        text = to_json(value, exclude=exclude, exclude_none=True, fallback=repr, bytes_mode="base64")
    except PydanticSerializationError:  # UTF-8 cannot hold a lone surrogate.
        return json.dumps(as_json(value, exclude=exclude), separators=(",", ":"))
    return text.decode()

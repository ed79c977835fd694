"""Record of a model request, and the way back from the record to the request (contract M6).

Requests repeat themselves: most of a request is history, which the log has, and instructions, tool declarations and
configuration rarely change. So a record stores only the difference:

    seq, agent, branch         enough to derive the contents from the log again
    contents                   pieces: [first, end) of the derived contents, or the hash of a text
    system, tools, config      hashes of texts

The texts are stored once per hash. Contents that tools, plugins and callbacks have added or changed are texts as well,
without large files.
"""

import hashlib
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
"""Largest file in a record, in characters of base64."""
_NOT_IN_CONFIG = {"system_instruction", "tools", "response_schema", "http_options"}
"""Fields stored elsewhere in a record, and the options of the connection, which hold secrets."""
_EMPTY_JSON = {"null", '""', "[]", "{}"}
"""Parts of a configuration to leave out of a record."""


@dataclass(frozen=True)
class RebuiltRequest:
    """A model request, as JSON values.

    Attributes:
        contents: the contents; None in place of a content without its text.
    """

    model: str | None
    system_instruction: Json
    tools: Json
    config: Json
    contents: list[Json]


def record_request(call: ModelCall) -> tuple[Record, dict[str, str]]:
    """Return the record of a request as JSON, and the referenced texts by hash."""
    texts: dict[str, str] = {}

    def keep(text: str) -> str:
        # 128 bits are enough to tell texts apart.
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
    # The events of an agent that runs as a tool are not in the log, so the record keeps the answer.
    if call.inside and call.answer:
        record["answer"] = keep(_as_text(call.answer))
    return record, texts


def record_children(calls: Sequence[ModelCall]) -> tuple[list[Record], dict[str, str]]:
    """Return the records of model calls of agents run as tools, in order, and the referenced texts by hash."""
    records: list[Record] = []
    texts: dict[str, str] = {}
    before: dict[object, Sequence[types.Content]] = {}
    for call in calls:
        # There is no log to derive contents from, so each call refers to the contents of the agent's call before.
        call.derived = before.get((call.inside, call.agent, call.branch), ())
        before[call.inside, call.agent, call.branch] = call.contents
        record, own_texts = record_request(call)
        records.append(record)
        texts |= own_texts
    return records, texts


def rebuild_child(records: Sequence[Record], number: int, texts: Mapping[str, str]) -> RebuiltRequest:
    """Return the request of the record at position `number`, from the records of `record_children`."""
    wanted = _child_key(records[number])
    request = RebuiltRequest(None, None, None, None, [])
    for record in records[: number + 1]:
        if _child_key(record) == wanted:
            request = rebuild(record, request.contents, texts)
    return request


def _child_key(record: Record) -> tuple[Json, ...]:
    return record.get("inside"), record.get("agent"), record.get("branch")


def derive(record: Record, events: Sequence[Event]) -> list[types.Content]:
    """Return the contents of a request as the log gives them, with references in place of files.

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
        derived: the result of `derive`, with files.
        texts: texts by hash; a value whose text is missing becomes None.
    """

    def text(name: Json) -> Json:
        if not name or name not in texts:
            return None
        return json.loads(texts[name])

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
    """Return a value of a request as JSON values, with the `repr` of objects that JSON cannot hold."""
    if isinstance(value, BaseModel):
        return value.model_dump(
            mode="json", by_alias=True, exclude=exclude, exclude_none=True, fallback=repr, warnings=False
        )
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, str | int | float | dict | None):
        return value
    return repr(value)


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
    """Return the content as JSON text, with hashes in place of large files."""
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
    """Return the sent contents as ranges of the derived contents and as texts; None if both are the same."""
    # Fast path: without hooks and additions a long history is the same objects.
    if len(sent) == len(derived) and all(map(is_, sent, derived)):
        return None
    positions = _positions(sent, derived)
    if positions == list(range(len(derived))):
        return None
    pieces: list[Json] = []
    for content, position in zip(sent, positions, strict=True):
        if position is None:
            pieces.append(keep(content))
        elif pieces and isinstance(pieces[-1], list) and pieces[-1][1] == position:
            # The neighbour in the log of the content before.
            pieces[-1][1] = position + 1
        else:
            pieces.append([position, position + 1])
    return pieces


def _positions(sent: Sequence[types.Content], derived: Sequence[types.Content]) -> list[int | None]:
    """Return the position of each sent content among the derived contents; None for an added content."""
    by_identity = {id(content): position for position, content in enumerate(derived)}
    # If there are hooks, all contents are copies. Hooks usually insert or change a few contents, so comparing from
    # both ends finds the unchanged rest without comparing every pair.
    positions: list[int | None] = [by_identity.get(id(content)) for content in sent]
    shorter = min(len(sent), len(derived))
    from_end = len(derived) - len(sent)
    for index in range(shorter):
        if positions[index] is None and sent[index] != derived[index]:
            break
        if positions[index] is None:
            positions[index] = index
    for index in range(len(sent) - 1, len(sent) - 1 - shorter, -1):
        if positions[index] is None and sent[index] != derived[index + from_end]:
            break
        if positions[index] is None:
            positions[index] = index + from_end
    return positions


def _as_text(value: object, *, exclude: set[str] | None = None) -> str:
    """Return a value of a request as JSON text in valid UTF-8: NUL and lone surrogates are escaped."""
    try:
        text = to_json(value, exclude=exclude, exclude_none=True, fallback=repr, bytes_mode="base64")
    except PydanticSerializationError:  # UTF-8 cannot hold a lone surrogate.
        return json.dumps(as_json(value, exclude=exclude), separators=(",", ":"))
    return text.decode()

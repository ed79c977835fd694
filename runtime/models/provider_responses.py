"""Answers of providers other than Google, as google-genai's responses.

A provider's own module reads its events and names its finish reasons. Here a call gathers its arguments, which arrive
in pieces, and `last_response` adds the calls once the answer is whole: an answer cut by a limit, a refusal or bad JSON
must not execute anything. Servers that imitate a provider leave fields out, send null, or end an answer twice: missing
counts are 0, and each call is added once.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime import types

Usage = types.GenerateContentResponseUsageMetadata


@dataclass
class PendingCall:
    """Function call with the JSON of its arguments so far, and its signature if the model signs calls."""

    id: str | None
    name: str = ""
    arguments: str = ""
    signature: bytes | None = None

    def add_arguments(self, piece: Any) -> None:
        """Add a piece of the JSON, or an object with all arguments."""
        if isinstance(piece, str):
            self.arguments += piece
        elif piece:
            self.arguments = json.dumps(piece)

    def as_part(self) -> types.Part:
        """Return the call as a part; raise `ValueError` if its arguments are not a JSON object."""
        # Some servers send nothing, or null, for a call without arguments.
        arguments = json.loads(self.arguments or "{}") or {}
        call = types.FunctionCall(id=self.id, name=self.name, args=arguments)
        return types.Part(function_call=call, thought_signature=self.signature)


def count_of(usage: object, name: str) -> int:
    """Return a token count of a provider's usage; 0 if it is missing or null."""
    value = getattr(usage, name, None)
    if not isinstance(value, int):
        return 0
    return value


def response_of(
    model: str,
    parts: list[types.Part],
    usage: Usage | None,
    finish_reason: types.FinishReason | None = None,
    sources: types.GroundingMetadata | None = None,
) -> types.GenerateContentResponse:
    """Return a piece of an answer, or the whole answer."""
    content: types.Content | None = None
    if parts:
        content = types.Content(role="model", parts=parts)
    candidate = types.Candidate(content=content, finish_reason=finish_reason, grounding_metadata=sources)
    return types.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version=model)


def last_response(
    model: str,
    parts: list[types.Part],
    calls: Iterable[PendingCall],
    usage: Usage | None,
    finish_reason: types.FinishReason,
    sources: types.GroundingMetadata | None = None,
) -> types.GenerateContentResponse:
    """Return the end of an answer, with its calls if the answer is whole and their arguments are valid JSON."""
    if finish_reason is types.FinishReason.STOP:
        try:
            parts = parts + [call.as_part() for call in calls]
        except (ValueError, RecursionError):
            finish_reason = types.FinishReason.MALFORMED_FUNCTION_CALL
    return response_of(model, parts, usage, finish_reason, sources)


@dataclass(frozen=True)
class CitedSource:
    """Page or document with its title; `uri` is empty if it has none."""

    title: str
    uri: str

    def as_chunk(self) -> types.GroundingChunk:
        """Return the source as Gemini reports it."""
        if self.uri.startswith(("http://", "https://")):
            return types.GroundingChunk(web=types.GroundingChunkWeb(title=self.title, uri=self.uri))
        document = types.GroundingChunkRetrievedContext(title=self.title, uri=self.uri or None)
        return types.GroundingChunk(retrieved_context=document)


class CitedSources:
    """Sources of an answer, collected with its parts, in the form of Gemini's grounding metadata.

    Each provider counts positions in its own way; here they become bytes of UTF-8 within a part of the answer. A
    citation that cannot be read is left out, and the answer is kept.

    Args:
        joins_texts: True for a streamed answer, whose adjacent texts become one part.
    """

    def __init__(self, *, joins_texts: bool) -> None:
        self._joins_texts = joins_texts
        self._texts: dict[int, list[str]] = {}
        self._parts = 0
        self._kind: bool | None = None  # True for a thought, False for a text, None for all others.
        self._found: dict[CitedSource, int] = {}
        self._supports: list[types.GroundingSupport] = []

    def add_parts(self, parts: Iterable[types.Part]) -> None:
        """Take the next parts of the answer."""
        for part in parts:
            kind: bool | None = None
            if part.text is not None and not part.thought_signature:
                kind = bool(part.thought)
            if kind is not None and not part.text:
                continue
            if not self._joins_texts or kind is None or kind != self._kind:
                self._parts += 1
            self._kind = kind
            if kind is False:
                self._texts.setdefault(self._parts - 1, []).append(part.text or "")

    def add_found(self, source: CitedSource | None) -> None:
        """Take a source that the model has found."""
        if source:
            self._found.setdefault(source, len(self._found))

    def cite_last(self, passage: str, sources: Sequence[CitedSource]) -> None:
        """Cite sources for the passage that ends the texts so far."""
        part = max(self._texts, default=None)
        if part is not None and passage:
            end = len("".join(self._texts[part]))
            self._cite(part, end - len(passage), end, sources)

    def cite(self, start: int, end: int, source: CitedSource) -> None:
        """Cite a source for a passage of the first text, given by its characters."""
        part = min(self._texts, default=None)
        if part is None or not 0 <= start < end <= len("".join(self._texts[part])):
            self.add_found(source)
        else:
            self._cite(part, start, end, [source])

    def as_metadata(self) -> types.GroundingMetadata | None:
        """Return the sources as Gemini reports them; None without any."""
        if not self._found:
            return None
        chunks = [source.as_chunk() for source in self._found]
        return types.GroundingMetadata(grounding_chunks=chunks, grounding_supports=self._supports or None)

    def _cite(self, part: int, start: int, end: int, sources: Sequence[CitedSource]) -> None:
        text = "".join(self._texts[part])
        for source in sources:
            self.add_found(source)
        segment = types.Segment(
            part_index=part,
            start_index=_bytes_of(text[:start]),
            end_index=_bytes_of(text[:end]),
            text=text[start:end],
        )
        found = sorted({self._found[source] for source in sources})
        self._supports.append(types.GroundingSupport(segment=segment, grounding_chunk_indices=found))


def field_of(value: object, name: str) -> object:
    """Return a field of a provider's object, or of the JSON that the client could not read as an object."""
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, name, None)


def text_field(value: object, *names: str) -> str:
    """Return the first text in these fields; empty if there is none."""
    for name in names:
        text = field_of(value, name)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def list_field(value: object, name: str) -> list[object]:
    """Return the items of the list in a field; none if it has no list."""
    items = field_of(value, name)
    if not isinstance(items, list):
        return []
    return items


def _bytes_of(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))

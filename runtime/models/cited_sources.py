"""Sources that Claude and OpenAI's models cite, in the form of Gemini's grounding metadata.

Each provider counts positions in its own way. Here they become bytes of UTF-8 within a part of the answer. Servers
that imitate a provider may send anything as a citation: what cannot be read is left out, and the answer is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime import types


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
    """Sources of an answer, collected with its parts.

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
            kind = None if part.thought_signature or part.text is None else bool(part.thought)
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
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def text_of(value: object, *names: str) -> str:
    """Return the first text in these fields; empty if there is none."""
    for name in names:
        text = field_of(value, name)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def items_of(value: object, name: str) -> list[object]:
    """Return the items of the list in a field; none if it has no list."""
    items = field_of(value, name)
    return items if isinstance(items, list) else []


def _bytes_of(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))

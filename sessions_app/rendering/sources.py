"""Sources of an answer: what its grounding metadata names, and where the answer refers to it.

All model clients report sources as google-genai's `GroundingMetadata`. Its positions count bytes of UTF-8 within a part
of the answer; pages count characters. Titles and addresses come from other sites and are not trusted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from django.apps import apps
from django.urls import reverse

from runtime import types
from runtime.events import Event as RuntimeEvent
from runtime.events.calls import parts_of
from runtime.valid_text import storable
from sessions_app.rendering.hidden_characters import escape_hidden
from sessions_app.rendering.markdown.citations import MAX_CITATIONS, Citation, Source
from sessions_app.rendering.markdown.links import host_of
from sessions_app.rendering.outline import one_line

MAX_SOURCES = 100
"""Maximum sources of an answer that are shown."""
MAX_URL_LENGTH = 4_000
MAX_SUGGESTIONS_LENGTH = 100_000
"""Characters above which suggestions are not shown. Google's have some thousands."""
PAGE = re.compile(r"https?://[^\s<>\"\\]+", re.IGNORECASE)
PASSAGE_SCHEME = "knowledge"
"""Scheme of the addresses of passages of the site's knowledge bases; the key of the passage follows."""
PASSAGE = re.compile(rf"{PASSAGE_SCHEME}:([0-9]{{1,18}})")
REDIRECTING_HOST = "vertexaisearch.cloud.google.com"
"""Host of the addresses that Gemini reports in place of those of pages, which it names by their titles."""


@dataclass(frozen=True)
class Sources:
    """Sources of an answer.

    Attributes:
        listed: sources in the order in which the answer refers to them, or without a number if it refers to none.
        citations: references to sources, by the index of the part of the answer, in order.
        suggestions: HTML of the search engine with further searches, as it was delivered; empty without any. It is
            not trusted, and is only shown in a sandbox.
    """

    listed: Sequence[Source] = ()
    citations: Mapping[int, Sequence[Citation]] = field(default_factory=dict)
    suggestions: str = ""


NO_SOURCES = Sources()


@dataclass(frozen=True)
class _CitedText:
    """A piece of an answer's text and what it is based on.

    Attributes:
        part: index of the part of the answer; -1 if the answer does not have the text.
        end: bytes of the part up to the end of the text.
        chunks: indexes of the chunks of the metadata that it is based on.
    """

    part: int
    end: int
    chunks: Sequence[int]


def sources_of(event: RuntimeEvent) -> Sources:
    """Return the sources of an answer: the sources that it cites, or all found sources if it cites none.

    An agent that answers with the sources of another agent, its tool, refers to passages that are not in its answer:
    these sources have no number.
    """
    metadata = event.grounding_metadata
    if metadata is None or event.author == "user":
        return NO_SOURCES
    texts = _texts_of(event)
    if not texts:
        return NO_SOURCES
    available = _sources_of_chunks(metadata.grounding_chunks or ())
    supports = islice(metadata.grounding_supports or (), MAX_CITATIONS)
    cited_texts = sorted((_cited_text(support, texts) for support in supports), key=_place)
    numbered: dict[Source, Source] = {}
    used: dict[Source, None] = {}
    citations: dict[int, list[Citation]] = {}
    for cited in cited_texts:
        sources = [available[index] for index in cited.chunks if 0 <= index < len(available)]
        named = list(dict.fromkeys(source for source in sources if source))
        used.update(dict.fromkeys(named))
        if cited.part in texts:
            marks = _numbered(named, numbered)
            position = len(texts[cited.part][: cited.end].decode())
            if marks:
                citations.setdefault(cited.part, []).append(Citation(position, marks))
    listed = [numbered.get(source, source) for source in used or dict.fromkeys(filter(None, available))]
    return Sources(listed[:MAX_SOURCES], citations, _suggestions(metadata))


def _suggestions(metadata: types.GroundingMetadata) -> str:
    entry_point = metadata.search_entry_point
    html = (entry_point and entry_point.rendered_content) or ""
    return html if html.strip() and len(html) <= MAX_SUGGESTIONS_LENGTH else ""


def _texts_of(event: RuntimeEvent) -> dict[int, bytes]:
    """Return the texts of an answer without thoughts, by the indexes of their parts."""
    texts = {}
    for index, part in enumerate(parts_of(event)):
        if part.text and not part.thought:
            texts[index] = storable(part.text).encode()
    return texts


def _cited_text(support: types.GroundingSupport, texts: Mapping[int, bytes]) -> _CitedText:
    segment = support.segment or types.Segment()
    chunks = support.grounding_chunk_indices or ()
    part = segment.part_index or 0
    start = max(segment.start_index or 0, 0)
    end = max(segment.end_index or 0, 0)
    cited = storable(segment.text or "").encode()
    if not end:
        return _CitedText(-1, 0, chunks)
    if not cited:
        part = part if part in texts else min(texts)
        return _CitedText(part, _end_of_character(texts[part], end), chunks)
    # A streamed answer has other parts than those that the model counts, such as one for all thoughts.
    for index in (part, *texts):
        if texts.get(index, b"")[start:end] == cited:
            return _CitedText(index, end, chunks)
    for index, text in texts.items():
        position = text.find(cited)
        if position >= 0:
            return _CitedText(index, position + len(cited), chunks)
    return _CitedText(-1, 0, chunks)


def _end_of_character(text: bytes, position: int) -> int:
    """Return the position, or the end of the character that it is within."""
    position = min(position, len(text))
    while position < len(text) and text[position] & 0xC0 == 0x80:
        position += 1
    return position


def _place(cited: _CitedText) -> tuple[bool, int, int]:
    return cited.part < 0, cited.part, cited.end


def _numbered(sources: Iterable[Source], numbered: dict[Source, Source]) -> tuple[Source, ...]:
    """Return the sources of a cited text with their numbers. Sources that are new get the next ones."""
    marks = []
    for source in sources:
        if source in numbered or len(numbered) < MAX_SOURCES:
            marks.append(numbered.setdefault(source, replace(source, number=len(numbered) + 1)))
    return tuple(marks)


def _sources_of_chunks(chunks: Iterable[types.GroundingChunk]) -> list[Source | None]:
    """Return the source of each chunk. Chunks of one page have the same source."""
    known: dict[str, Source] = {}
    sources = []
    for chunk in chunks:
        source = _source_of(chunk)
        if source:
            source = known.setdefault(source.url or source.title, source)
        sources.append(source)
    return sources


def _source_of(chunk: types.GroundingChunk) -> Source | None:
    """Return the source that a chunk names; None if it names none that a reader could know."""
    for title, uri, domain in _names_in(chunk):
        url = _address(uri)
        host = host_of(url)
        if host == REDIRECTING_HOST:
            host = domain
        title = _readable(title) or _readable(host) or _readable(uri)
        if host == title:
            host = ""
        if title:
            return Source(title=title, host=_readable(host), url=url)
    return None


def _address(uri: str) -> str:
    """Return the address of what the URI names; empty if it cannot be opened."""
    if PAGE.fullmatch(uri) and uri.isprintable() and len(uri) <= MAX_URL_LENGTH:
        return uri
    passage = PASSAGE.fullmatch(uri)
    if passage is None or not apps.is_installed("sessions_app.contrib.knowledge"):
        return ""
    return reverse("chat:passage", args=[int(passage[1])])


def _names_in(chunk: types.GroundingChunk) -> Iterator[tuple[str, str, str]]:
    """Yield title, URI and domain of what a chunk names."""
    if web := chunk.web:
        yield web.title or "", web.uri or "", web.domain or ""
    if place := chunk.maps:
        yield place.title or "", place.uri or "", ""
    if document := chunk.retrieved_context:
        yield document.title or document.document_name or "", document.uri or "", ""
    if image := chunk.image:
        yield image.title or "", image.source_uri or "", image.domain or ""


def _readable(text: str) -> str:
    # Characters such as U+202E could show another host than that of the link.
    return escape_hidden(one_line(storable(text).strip()))

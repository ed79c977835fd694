"""Sources that tools find: the next answer of the model names them, as it names those of a model that searches.

A tool has the mark `propagate_grounding_metadata`, which `@finds_sources` gives to a function, and adds what it has
given to the model. The answers of agents with such a tool have all sources of the invocation (contract T9).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from runtime import types
from runtime.context import Context
from runtime.sessions.state import GROUNDING_KEY

F = TypeVar("F", bound=Callable[..., Any])


def finds_sources(function: F) -> F:
    """Mark a function that adds sources. `FunctionTool` reads the mark."""
    function.propagate_grounding_metadata = True  # type: ignore[attr-defined]
    return function


def add_page(tool_context: Context, title: str, url: str) -> None:
    """Add a web page to the sources of the answer."""
    _add(tool_context, types.GroundingChunk(web=types.GroundingChunkWeb(title=title, uri=url)))


def add_document(tool_context: Context, title: str, uri: str = "") -> None:
    """Add a document to the sources of the answer, with the address at which a person can read it."""
    document = types.GroundingChunkRetrievedContext(title=title, uri=uri or None)
    _add(tool_context, types.GroundingChunk(retrieved_context=document))


def add_sources(tool_context: Context, found: types.GroundingMetadata) -> None:
    """Add a copy of all that a search or another agent has found to the sources of the answer."""
    found = found.model_copy(deep=True)
    # In place: calls of a step share the object. Of the values that they write, only that of the last call would count.
    sources = tool_context.state.get(GROUNDING_KEY) or types.GroundingMetadata()
    if sources.grounding_supports or found.grounding_supports:
        earlier = len(sources.grounding_chunks or ())
        sources.grounding_supports = [*_supports(sources, 0), *_supports(found, earlier)]
    for name, value in found:
        known = getattr(sources, name)
        if name == "grounding_supports" or value is None:
            continue
        if isinstance(known, list):
            known.extend(value)
            continue
        if isinstance(known, types.SearchEntryPoint):
            # The terms of a search may require that its suggestions are shown.
            value.rendered_content = _joined(known.rendered_content or "", value.rendered_content or "")
        setattr(sources, name, value)
    tool_context.state[GROUNDING_KEY] = sources


def _add(tool_context: Context, chunk: types.GroundingChunk) -> None:
    sources = tool_context.state.get(GROUNDING_KEY) or types.GroundingMetadata()
    if chunk not in (sources.grounding_chunks or ()):
        add_sources(tool_context, types.GroundingMetadata(grounding_chunks=[chunk]))


def _joined(earlier: str, html: str) -> str:
    """Return both, or one that contains the other: an agent's answer may have the suggestions of an earlier one."""
    if earlier in html:
        return html
    if html in earlier:
        return earlier
    return f"{earlier}\n{html}"


def _supports(sources: types.GroundingMetadata, earlier: int) -> list[types.GroundingSupport]:
    """Return the cited passages with the indexes of their sources, which come after `earlier` others."""
    count = len(sources.grounding_chunks or ())
    supports = sources.grounding_supports or []
    if count and not supports:
        # An answer shows all its sources, or only those that a passage cites.
        supports = [types.GroundingSupport(grounding_chunk_indices=list(range(count)))]
    moved = []
    for support in supports:
        indexes = support.grounding_chunk_indices or []
        known = [position for position, index in enumerate(indexes) if 0 <= index < count]
        update: dict[str, Any] = {
            "grounding_chunk_indices": [earlier + indexes[position] for position in known]
        }
        scores = support.confidence_scores
        if scores and len(scores) == len(indexes):
            update["confidence_scores"] = [scores[position] for position in known]
        moved.append(support.model_copy(update=update))
    return moved

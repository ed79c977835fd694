"""Sources that tools find: the next answer of the model names them, as it names those of a model that searches.

A tool has the mark `propagate_grounding_metadata`, which `@finds_sources` gives to a function, and adds what it has
given to the model. The answers of agents with such a tool have all sources of the invocation (contract T9).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from runtime import types
from runtime.context import Context
from runtime.sessions.state import GROUNDING_KEY
from runtime.tools.callables import underlying_function

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "propagate_grounding_metadata"


def finds_sources(function: F) -> F:
    """Mark a function that adds sources."""
    setattr(function, _MARK, True)
    return function


def does_find_sources(function: Callable[..., Any]) -> bool:
    return bool(getattr(underlying_function(function), _MARK, False))


def add_page(tool_context: Context, title: str, url: str) -> None:
    """Add a web page to the sources of the answer."""
    _add(tool_context, types.GroundingChunk(web=types.GroundingChunkWeb(title=title, uri=url)))


def add_document(tool_context: Context, title: str, uri: str = "") -> None:
    """Add a document to the sources of the answer, with the address at which a person can read it."""
    document = types.GroundingChunkRetrievedContext(title=title, uri=uri or None)
    _add(tool_context, types.GroundingChunk(retrieved_context=document))


def _add(tool_context: Context, chunk: types.GroundingChunk) -> None:
    sources = tool_context.state.get(GROUNDING_KEY) or types.GroundingMetadata()
    if sources.grounding_chunks is None:
        sources.grounding_chunks = []
    # In place: calls of a step share the object. Of the values that they write, only that of the last call would count.
    if chunk not in sources.grounding_chunks:
        sources.grounding_chunks.append(chunk)
    tool_context.state[GROUNDING_KEY] = sources

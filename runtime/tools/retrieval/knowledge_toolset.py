"""Knowledge bases as a tool: an agent searches the bases that its toolset names, and cites what it found (contract T9).

The toolset knows no storage. A site gives the runtime its search by `set_knowledge_search`; a script gives one to the
toolset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.retrieval.base_retrieval_tool import BaseRetrievalTool
from runtime.tools.sources import add_document

DEFAULT_LIMIT = 5
NAME = "search_knowledge"


@dataclass(frozen=True)
class Passage:
    """A piece of a document.

    Attributes:
        source: the document and the place in it, as people read it: "handbook.pdf, p. 12: Refunds".
        uri: address at which the person can read the passage, or what the site makes one of; empty without one.
    """

    text: str
    source: str
    uri: str = ""


class KnowledgeSearch(Protocol):
    """Search of knowledge bases."""

    async def __call__(
        self, *, query: str, bases: Sequence[str], limit: int, tool_context: Context
    ) -> list[Passage]:
        """Return the passages that fit the query, the best first, of those bases that the session's user may read."""


_search_of_site: KnowledgeSearch | None = None


def set_knowledge_search(search: KnowledgeSearch | None) -> None:
    """Set the default search of toolsets."""
    global _search_of_site
    _search_of_site = search


class KnowledgeToolset(BaseToolset):
    """Offers `search_knowledge`, a search of the bases with these names.

    Args:
        bases: names of knowledge bases.
        limit: largest number of passages returned by a search.
        search: search of the bases; None for that of the site.
        tool_name_prefix: see `BaseToolset`; for agents with several of these toolsets.

    Raises:
        ConfigurationError: no base is named.
    """

    def __init__(
        self,
        *,
        bases: Sequence[str],
        limit: int = DEFAULT_LIMIT,
        search: KnowledgeSearch | None = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        super().__init__(tool_name_prefix=tool_name_prefix)
        if isinstance(bases, str) or not bases:
            raise ConfigurationError("KnowledgeToolset needs a list with the names of knowledge bases.")
        self.tool = SearchKnowledgeTool(list(bases), limit, search)

    @property
    def known_tools(self) -> list[BaseTool]:
        return [self.tool]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tool."""
        return self.known_tools


class SearchKnowledgeTool(BaseRetrievalTool):
    """Returns passages with their sources. The next answer of the model names the sources."""

    title = "Look up “{query}” in the documents"
    propagate_grounding_metadata = True

    def __init__(self, bases: list[str], limit: int, search: KnowledgeSearch | None) -> None:
        described = (
            f"Search the documents of: {', '.join(bases)}. Returns passages, each with its source: the name of a "
            "document and the place in it. Answer from the passages, and name the sources you used. If nothing fits, "
            "say so."
        )
        super().__init__(name=NAME, description=described)
        self.bases = bases
        self.limit = limit
        self._search = search

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return the passages that fit the query.

        Raises:
            ConfigurationError: neither the toolset nor the site has a search.
        """
        search = self._search or _search_of_site
        if search is None:
            raise ConfigurationError(
                "Nothing searches knowledge bases here. Give the KnowledgeToolset a `search`, or add "
                '"sessions_app.contrib.knowledge" to INSTALLED_APPS.'
            )
        query = str(args.get("query", "")).strip()
        found = await search(query=query, bases=self.bases, limit=self.limit, tool_context=tool_context)
        for passage in found:
            add_document(tool_context, passage.source, passage.uri)
        return {"passages": [{"text": passage.text, "source": passage.source} for passage in found]}

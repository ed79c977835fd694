"""VertexAiSearchTool: search in the customer's documents, by Gemini on Vertex AI (contract T9)."""

from runtime import types
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext


class VertexAiSearchTool(BaseTool):
    """Lets Gemini search a data store or a search engine while it answers.

    Override `_build_vertex_ai_search_config` to search differently for each person.

    Args:
        data_store_id: `projects/…/locations/…/collections/…/dataStores/…`.
        data_store_specs: data stores of the engine to search in.
        search_engine_id: `projects/…/locations/…/collections/…/engines/…`.
        filter: expression to select documents.
        max_results: number of documents.
        bypass_multi_tools_limit: True to search in a separate agent if the agent has other tools: Gemini before 3
            refuses the search together with functions.

    Raises:
        ConfigurationError: neither or both of data store and engine are given.
    """

    def __init__(
        self,
        *,
        data_store_id: str | None = None,
        data_store_specs: list[types.VertexAISearchDataStoreSpec] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,
        max_results: int | None = None,
        name: str | None = None,
        description: str | None = None,
        bypass_multi_tools_limit: bool = False,
    ) -> None:
        if (data_store_id is None) == (search_engine_id is None):
            raise ConfigurationError(
                "Either data_store_id or search_engine_id must be specified, and not both."
            )
        if data_store_specs is not None and search_engine_id is None:
            raise ConfigurationError("search_engine_id must be specified if data_store_specs is specified.")
        super().__init__(name=name or "vertex_ai_search", description=description or "Searches documents.")
        self.data_store_id = data_store_id
        self.data_store_specs = data_store_specs
        self.search_engine_id = search_engine_id
        self.filter = filter
        self.max_results = max_results
        self.bypass_multi_tools_limit = bypass_multi_tools_limit

    def _build_vertex_ai_search_config(self, readonly_context: ReadonlyContext) -> types.VertexAISearch:
        return types.VertexAISearch(
            datastore=self.data_store_id,
            data_store_specs=self.data_store_specs,
            engine=self.search_engine_id,
            filter=self.filter,
            max_results=self.max_results,
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        retrieval = types.Retrieval(vertex_ai_search=self._build_vertex_ai_search_config(tool_context))
        llm_request.config.tools = [*(llm_request.config.tools or []), types.Tool(retrieval=retrieval)]

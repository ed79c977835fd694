"""Contract T9, Q13: tools that Gemini runs, and the declaration of retrieval tools."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models.declared_functions import functions_of
from runtime.models.llm_request import LlmRequest
from runtime.tools import (
    BaseTool,
    VertexAiSearchTool,
    enterprise_web_search,
    google_maps_grounding,
    google_search,
)
from runtime.tools.retrieval import BaseRetrievalTool, LlamaIndexRetrieval, VertexAiRagRetrieval

STORE = "projects/p/locations/eu/collections/c/dataStores/d"
ENGINE = "projects/p/locations/eu/collections/c/engines/e"


async def request_with(context: Context, *tools: BaseTool) -> LlmRequest:
    request = LlmRequest()
    for tool in tools:
        await tool.process_llm_request(tool_context=context, llm_request=request)
    return request


def retrieval(**fields: Any) -> types.Tool:
    return types.Tool(retrieval=types.Retrieval(**fields))


@pytest.mark.parametrize(
    ("tool", "entry"),
    [
        (google_maps_grounding, types.Tool(google_maps=types.GoogleMaps())),
        (enterprise_web_search, types.Tool(enterprise_web_search=types.EnterpriseWebSearch())),
        (
            VertexAiSearchTool(data_store_id=STORE, filter="a = 1", max_results=3),
            retrieval(vertex_ai_search=types.VertexAISearch(datastore=STORE, filter="a = 1", max_results=3)),
        ),
        (
            VertexAiRagRetrieval(name="rag", description="", rag_corpora=["c"], similarity_top_k=2),
            retrieval(vertex_rag_store=types.VertexRagStore(rag_corpora=["c"], similarity_top_k=2)),
        ),
    ],
)
async def test_q13_a_model_side_tool_is_an_entry_of_its_own(
    tool: BaseTool, entry: types.Tool, context: Context
) -> None:
    request = await request_with(context, google_search, tool)
    assert request.config.tools == [types.Tool(google_search=types.GoogleSearch()), entry]
    assert request.tools_dict == {}


async def test_other_models_refuse_such_a_tool_by_name(context: Context) -> None:
    request = await request_with(context, google_maps_grounding)
    with pytest.raises(ConfigurationError, match="google_maps"):
        functions_of(request.config, "gpt")


async def test_a_search_may_differ_for_each_person(context: Context) -> None:
    class Own(VertexAiSearchTool):
        def _build_vertex_ai_search_config(self, readonly_context: ReadonlyContext) -> types.VertexAISearch:
            return types.VertexAISearch(engine=self.search_engine_id, filter=readonly_context.state["color"])

    request = await request_with(context, Own(search_engine_id=ENGINE))
    assert request.config.tools == [
        retrieval(vertex_ai_search=types.VertexAISearch(engine=ENGINE, filter="red"))
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"data_store_id": STORE, "search_engine_id": ENGINE},
        {"data_store_id": STORE, "data_store_specs": []},
    ],
)
def test_a_search_needs_one_source(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="must be specified"):
        VertexAiSearchTool(**arguments)


def test_a_retrieval_tool_declares_a_query() -> None:
    declaration = BaseRetrievalTool(name="find", description="Finds.")._get_declaration()
    assert declaration.parameters and list(declaration.parameters.properties or {}) == ["query"]


async def test_a_retriever_gives_its_best_text(context: Context) -> None:
    retriever = SimpleNamespace(
        retrieve=lambda query: [SimpleNamespace(text=f"About {query}")] if query else []
    )
    tool = LlamaIndexRetrieval(name="find", description="Finds.", retriever=retriever)
    assert await tool.run_async(args={"query": "lamps"}, tool_context=context) == "About lamps"
    assert "No matching result" in await tool.run_async(args={}, tool_context=context)

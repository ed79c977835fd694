"""VertexAiRagRetrieval: a corpus of Vertex AI RAG, read by Gemini (contract T9)."""

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import ModelSideTool
from runtime.tools.retrieval.base_retrieval_tool import BaseRetrievalTool
from runtime.tools.tool_context import ToolContext


class VertexAiRagRetrieval(BaseRetrievalTool):
    """Makes Gemini read texts of a corpus while it answers. Other models refuse the request."""

    can_run_in_job = False

    def __init__(
        self,
        *,
        name: str,
        description: str,
        rag_corpora: list[str] | None = None,
        rag_resources: list[types.VertexRagStoreRagResource] | None = None,
        similarity_top_k: int | None = None,
        vector_distance_threshold: float | None = None,
    ) -> None:
        super().__init__(name=name, description=description)
        self.vertex_rag_store = types.VertexRagStore(
            rag_corpora=rag_corpora,
            rag_resources=rag_resources,
            similarity_top_k=similarity_top_k,
            vector_distance_threshold=vector_distance_threshold,
        )

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Enable the corpus in the request. The model does not call this tool by name."""
        tool = types.Tool(retrieval=types.Retrieval(vertex_rag_store=self.vertex_rag_store))
        side = ModelSideTool(name=self.name, description=self.description, tool=tool)
        await side.process_llm_request(tool_context=tool_context, llm_request=llm_request)

"""Tools that retrieve texts for a query."""

from runtime.tools.retrieval.base_retrieval_tool import BaseRetrievalTool
from runtime.tools.retrieval.knowledge_toolset import KnowledgeToolset
from runtime.tools.retrieval.llama_index_retrieval import LlamaIndexRetrieval
from runtime.tools.retrieval.vertex_ai_rag_retrieval import VertexAiRagRetrieval

__all__ = ["BaseRetrievalTool", "KnowledgeToolset", "LlamaIndexRetrieval", "VertexAiRagRetrieval"]

"""LlamaIndexRetrieval: a retriever of LlamaIndex as a tool (contract T9)."""

from typing import Any

from runtime.context import Context
from runtime.tools.retrieval.base_retrieval_tool import BaseRetrievalTool
from runtime.tools.tool_threads import run_in_tool_thread


class LlamaIndexRetrieval(BaseRetrievalTool):
    """Returns the text of the best node from `retriever.retrieve(query)`, which runs in a tool thread."""

    def __init__(self, *, name: str, description: str, retriever: Any) -> None:
        super().__init__(name=name, description=description)
        self.retriever = retriever

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        query = str(args.get("query", ""))
        nodes = await run_in_tool_thread(lambda: self.retriever.retrieve(query))
        if nodes:
            return nodes[0].text
        return f"No matching result found for the query: {query}"

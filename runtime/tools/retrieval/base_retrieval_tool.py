"""The declaration of a retrieval tool (contract T9)."""

from runtime import types
from runtime.tools.base_tool import BaseTool


class BaseRetrievalTool(BaseTool):
    """Tool with one argument, `query`. A subclass implements `run_async`."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        query = types.Schema(type=types.Type.STRING, description="The query to retrieve.")
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(type=types.Type.OBJECT, properties={"query": query}),
        )

"""Tools of CrewAI."""

from runtime.tools.crewai_tool import CrewaiTool

__all__ = ["CrewaiTool"]

"""Public path; defined in `runtime.tools.crewai_tool`."""

from runtime.tools.crewai_tool import CrewaiTool

__all__ = ["CrewaiTool"]

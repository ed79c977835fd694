"""A triage desk that hands reports to specialists, who may not hand them on to each other."""

from typing import Any, Literal

from runtime.agents import LlmAgent
from runtime.tools import ToolContext

MODEL = "gemini-2.5-flash"


def file_report(title: str, severity: Literal["low", "high"], tool_context: ToolContext) -> dict[str, Any]:
    """Files a report.

    Args:
        title: One line.
        severity: How bad it is.
    """
    count = tool_context.state.get("app:reports", 0) + 1
    tool_context.state["app:reports"] = count
    return {"id": f"BUG-{count}", "title": title, "severity": severity, "team": tool_context.agent_name}


def specialist(name: str, field: str) -> LlmAgent:
    """Return a specialist for a field."""
    return LlmAgent(
        name=name,
        model=MODEL,
        description=f"Takes reports about {field}.",
        instruction=f"You know {field}. File the report with file_report.",
        tools=[file_report],
        disallow_transfer_to_peers=True,
    )


root_agent = LlmAgent(
    name="triage",
    model=MODEL,
    instruction="Find out what is broken and hand the report to the specialist.",
    sub_agents=[specialist("interface", "what people see"), specialist("database", "stored data")],
)

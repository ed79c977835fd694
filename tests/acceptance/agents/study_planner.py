"""A tutor that plans before it acts, with a planner for models that do not think by themselves."""

from runtime.agents import LlmAgent
from runtime.planners import PlanReActPlanner
from runtime.tools import ToolContext

MODEL = "gemini-2.5-flash"
CHAPTERS = {"algebra": 4, "geometry": 2}


def count_chapters(subject: str) -> int:
    """Counts the chapters of a subject.

    Args:
        subject: For example "algebra".
    """
    return CHAPTERS.get(subject, 0)


def schedule(subject: str, weeks: int, tool_context: ToolContext) -> str:
    """Puts a subject on the timetable.

    Args:
        subject: What to learn.
        weeks: How long.
    """
    tool_context.state["timetable"] = {**tool_context.state.get("timetable", {}), subject: weeks}
    return "scheduled"


root_agent = LlmAgent(
    name="tutor",
    model=MODEL,
    instruction="Plan how to learn a subject, a chapter a week.",
    tools=[count_chapters, schedule],
    planner=PlanReActPlanner(),
    output_key="advice",
)

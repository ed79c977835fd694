"""A language tutor that learns its manner from examples, and has exercises marked by another agent."""

from runtime.agents import LlmAgent
from runtime.examples import Example
from runtime.tools import AgentTool, ExampleTool, ToolContext
from tests.fakes import say, text_content

MODEL = "gemini-2.5-flash"

examples = [
    Example(input=say("I goed home."), output=[text_content("Almost: I *went* home. Now you: go, tomorrow.")])
]
marker = LlmAgent(
    name="marker",
    model=MODEL,
    description="Marks an exercise with points from 0 to 10.",
    instruction="Answer with a number only.",
)


def record_points(points: int, tool_context: ToolContext) -> int:
    """Records points and returns the sum.

    Args:
        points: From 0 to 10.
    """
    total: int = tool_context.state.get("user:points", 0) + points
    tool_context.state["user:points"] = total
    return total


root_agent = LlmAgent(
    name="teacher",
    model=MODEL,
    instruction="Correct the person. Points so far: {user:points?}",
    tools=[ExampleTool(examples), AgentTool(marker), record_points],
)

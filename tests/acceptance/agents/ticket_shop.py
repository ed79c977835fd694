"""A ticket shop that lets the person choose a seat, and sells it when the choice has come."""

from runtime.agents import LlmAgent
from runtime.apps import App, ResumabilityConfig
from runtime.tools import ToolContext, get_user_choice

MODEL = "gemini-2.5-flash"
SEATS = ["A1", "A2", "B1"]


def free_seats(tool_context: ToolContext) -> list[str]:
    """Lists the free seats."""
    sold = tool_context.state.get("app:sold", [])
    return [seat for seat in SEATS if seat not in sold]


def sell(seat: str, tool_context: ToolContext) -> dict[str, str]:
    """Sells a seat.

    Args:
        seat: The seat, for example A1.
    """
    if seat not in free_seats(tool_context):
        return {"error": f"Seat {seat} is not free."}
    tool_context.state["app:sold"] = [*tool_context.state.get("app:sold", []), seat]
    return {"ticket": seat}


app = App(
    name="tickets",
    root_agent=LlmAgent(
        name="box_office",
        model=MODEL,
        instruction="Offer the free seats with get_user_choice, then sell the chosen one.",
        tools=[free_seats, get_user_choice, sell],
    ),
    resumability_config=ResumabilityConfig(is_resumable=True),
)

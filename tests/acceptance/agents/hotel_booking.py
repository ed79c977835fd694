"""A hotel clerk that books at once, but asks the guest to confirm what costs much."""

from typing import Any

from runtime.agents import LlmAgent
from runtime.tools import FunctionTool, ToolContext

MODEL = "gemini-2.5-flash"
PRICES = {"single": 90, "double": 140, "suite": 420}
BUDGET = 500


def list_rooms() -> dict[str, int]:
    """Lists the kinds of rooms with their price for a night."""
    return PRICES


def is_over_budget(room: str, nights: int) -> bool:
    """True if the guest has to confirm the booking."""
    return PRICES.get(room, 0) * nights > BUDGET


def book(room: str, nights: int, tool_context: ToolContext) -> dict[str, Any]:
    """Books a room.

    Args:
        room: The kind of room, from list_rooms.
        nights: The number of nights.
    """
    if room not in PRICES:
        return {"error": f"There is no {room}. There are: {', '.join(PRICES)}."}
    booking = {"room": room, "nights": nights, "total": PRICES[room] * nights}
    tool_context.state["bookings"] = [*tool_context.state.get("bookings", []), booking]
    return booking


root_agent = LlmAgent(
    name="hotel_clerk",
    model=MODEL,
    instruction="Book rooms with book. Already booked: {bookings?}",
    tools=[list_rooms, FunctionTool(book, require_confirmation=is_over_budget)],
)

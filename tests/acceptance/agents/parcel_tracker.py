"""A parcel tracker on a service that fails at times: a plugin lets the model try again."""

from typing import Any

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.plugins import ReflectAndRetryToolPlugin

MODEL = "gemini-2.5-flash"


def track(number: str) -> dict[str, Any]:
    """Finds a parcel.

    Args:
        number: Its number, which begins with P.
    """
    if not number.startswith("P"):
        raise ValueError(f"{number!r} is no number of a parcel: it begins with P.")
    return {"number": number, "place": "Leipzig"}


app = App(
    name="parcels",
    root_agent=LlmAgent(
        name="tracker", model=MODEL, instruction="Find the parcel with track.", tools=[track]
    ),
    plugins=[ReflectAndRetryToolPlugin(max_retries=1)],
)

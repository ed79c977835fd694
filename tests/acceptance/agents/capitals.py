"""Agents with structured input and output: with a tool, with an output schema, and with both."""

from pydantic import BaseModel, Field

from runtime.agents import LlmAgent

MODEL = "gemini-2.5-flash"
CAPITALS = {"france": "Paris", "japan": "Tokyo"}


class CountryInput(BaseModel):
    """The country in question."""

    country: str = Field(description="The country to tell about.")


class CapitalInfo(BaseModel):
    """The answer about a capital."""

    capital: str = Field(description="The capital of the country.")
    population_estimate: int = Field(description="How many people live there, roughly.")


def get_capital_city(country: str) -> str:
    """Finds the capital of a country.

    Args:
        country: The name of the country.
    """
    return CAPITALS.get(country.lower(), "unknown")


capital_agent_with_tool = LlmAgent(
    name="capital_agent_tool",
    model=MODEL,
    description="Finds the capital with a tool.",
    instruction="Find the capital with get_capital_city and tell it.",
    tools=[get_capital_city],
    input_schema=CountryInput,
    output_key="capital_tool_result",
)

structured_info_agent = LlmAgent(
    name="structured_info_agent",
    model=MODEL,
    description="Gives the capital and its population as an object.",
    instruction="Answer with the capital and its population.",
    input_schema=CountryInput,
    output_schema=CapitalInfo,
    output_key="structured_info_result",
)

structured_agent_with_tool = LlmAgent(
    name="structured_agent_tool",
    model=MODEL,
    description="Finds the capital with a tool and gives an object.",
    instruction="Find the capital with get_capital_city, then answer.",
    tools=[get_capital_city],
    output_schema=CapitalInfo,
    output_key="structured_tool_result",
)

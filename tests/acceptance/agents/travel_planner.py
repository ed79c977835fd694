"""A travel planner that asks two experts, each an agent used as a tool."""

from pydantic import BaseModel, Field

from runtime.agents import LlmAgent
from runtime.tools import AgentTool

MODEL = "gemini-2.5-flash"


class Trip(BaseModel):
    """The trip in question."""

    city: str = Field(description="The city.")
    days: int = Field(description="The number of days.", ge=1)


class Budget(BaseModel):
    """The costs of a trip."""

    total: int
    currency: str = "EUR"


sights = LlmAgent(
    name="sights",
    model=MODEL,
    description="Knows what to see in a city.",
    instruction="Name the sights. The person likes {user:likes?}.",
    input_schema=Trip,
    output_key="sights",
)
costs = LlmAgent(
    name="costs",
    model=MODEL,
    description="Estimates the costs of a trip.",
    instruction="Estimate the costs.",
    input_schema=Trip,
    output_schema=Budget,
)
root_agent = LlmAgent(
    name="planner",
    model=MODEL,
    instruction="Plan a trip with the help of your experts.",
    tools=[AgentTool(sights), AgentTool(costs)],
)

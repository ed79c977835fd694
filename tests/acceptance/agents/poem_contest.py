"""A contest: three poets write at once, a judge who sees all poems decides."""

from pydantic import BaseModel

from runtime.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent

MODEL = "gemini-2.5-flash"
POETS = ("haiku", "limerick", "sonnet")


class Verdict(BaseModel):
    """The judge's decision."""

    winner: str
    reason: str


def poet(form: str) -> BaseAgent:
    """Return the author of a poem in this form."""
    return LlmAgent(name=form, model=MODEL, instruction=f"Write a {form}.", output_key=f"poem_{form}")


judge = LlmAgent(
    name="judge",
    model=MODEL,
    instruction="Which poem is best? " + " ".join(f"{form}: {{poem_{form}}}" for form in POETS),
    output_schema=Verdict,
    output_key="verdict",
)
root_agent = SequentialAgent(
    name="contest",
    sub_agents=[ParallelAgent(name="poets", sub_agents=[poet(form) for form in POETS]), judge],
)

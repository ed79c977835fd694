"""Three agents that research in parallel, and one that merges their findings into a report."""

from runtime.agents.llm_agent import LlmAgent
from runtime.agents.parallel_agent import ParallelAgent
from runtime.agents.sequential_agent import SequentialAgent

MODEL = "gemini-2.5-flash"
TOPICS = {
    "renewable_energy": "renewable energy sources",
    "ev_technology": "electric vehicle technology",
    "carbon_capture": "methods of carbon capture",
}


def look_up(topic: str) -> str:
    """Looks a topic up.

    Args:
        topic: What to look for.
    """
    return f"Facts about {topic}."


researchers = [
    LlmAgent(
        name=f"{key}_researcher",
        model=MODEL,
        description=f"Researches {topic}.",
        instruction=f"Look up the latest on {topic} and sum it up in a sentence or two.",
        tools=[look_up],
        output_key=f"{key}_result",
    )
    for key, topic in TOPICS.items()
]

parallel_research_agent = ParallelAgent(
    name="ParallelWebResearchAgent", description="Runs the researchers.", sub_agents=researchers
)

merger_agent = LlmAgent(
    name="SynthesisAgent",
    model=MODEL,
    description="Combines the findings into one report.",
    instruction="Write a report from these summaries alone:\n"
    + "\n".join(f"* {topic}: {{{key}_result}}" for key, topic in TOPICS.items()),
)

root_agent = SequentialAgent(
    name="ResearchAndSynthesisPipeline",
    description="Researches side by side, then merges.",
    sub_agents=[parallel_research_agent, merger_agent],
)

"""A writer drafts, then a critic and a refiner take turns in a loop until the critic has no objections."""

from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from runtime.tools.tool_context import ToolContext

MODEL = "gemini-2.5-flash"
COMPLETION_PHRASE = "No major issues found."


def exit_loop(tool_context: ToolContext) -> dict[str, str]:
    """Call this only when the critique says that there are no major issues: it ends the refinement."""
    tool_context.actions.escalate = True
    tool_context.actions.skip_summarization = True
    return {}


initial_writer_agent = LlmAgent(
    name="InitialWriterAgent",
    model=MODEL,
    include_contents="none",
    instruction="Write the first draft of a short story about this topic: {initial_topic}",
    output_key="current_document",
)

critic_agent = LlmAgent(
    name="CriticAgent",
    model=MODEL,
    include_contents="none",
    instruction=f"Review this document:\n{{current_document}}\nIf it is good, say exactly: {COMPLETION_PHRASE}",
    output_key="criticism",
)

refiner_agent = LlmAgent(
    name="RefinerAgent",
    model=MODEL,
    include_contents="none",
    instruction=(
        "Improve this document:\n{current_document}\nby this critique:\n{criticism}\n"
        f"If the critique is '{COMPLETION_PHRASE}', call exit_loop and say nothing."
    ),
    tools=[exit_loop],
    output_key="current_document",
)

refinement_loop = LoopAgent(name="RefinementLoop", sub_agents=[critic_agent, refiner_agent], max_iterations=5)

root_agent = SequentialAgent(
    name="IterativeWritingPipeline", sub_agents=[initial_writer_agent, refinement_loop]
)

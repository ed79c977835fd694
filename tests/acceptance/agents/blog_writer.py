"""A blog post from an outline: two sections written at once, then joined and signed."""

from google.genai import types

from runtime.agents import LlmAgent, ParallelAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext

MODEL = "gemini-2.5-flash"


def section(name: str, part: str) -> LlmAgent:
    """Return the author of a part of the post."""
    return LlmAgent(
        name=name, model=MODEL, instruction=f"Write the {part} by this outline: {{outline}}", output_key=name
    )


async def publish(callback_context: CallbackContext) -> types.Content:
    """Save the post and say where."""
    post = types.Part(text=callback_context.state["post"])
    version = await callback_context.save_artifact("post.md", post)
    return types.Content(role="model", parts=[types.Part(text=f"Saved as post.md, version {version}.")])


outliner = LlmAgent(
    name="outliner", model=MODEL, instruction="Outline a post on the topic.", output_key="outline"
)
sections = ParallelAgent(
    name="sections", sub_agents=[section("opening", "opening"), section("ending", "ending")]
)
editor = LlmAgent(
    name="editor",
    model=MODEL,
    include_contents="none",
    instruction="Join both: {opening} / {ending}",
    output_key="post",
    after_agent_callback=publish,
)
root_agent = SequentialAgent(name="blog", sub_agents=[outliner, sections, editor])

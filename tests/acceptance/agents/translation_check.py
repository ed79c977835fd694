"""A translation that is checked back and mended until the check finds nothing more."""

from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from runtime.tools import exit_loop

MODEL = "gemini-2.5-flash"

translator = LlmAgent(
    name="translator",
    model=MODEL,
    instruction="Translate what the person wrote into {language}.",
    output_key="translation",
)
checker = LlmAgent(
    name="checker",
    model=MODEL,
    include_contents="none",
    instruction="Is this natural {language}? {translation}\nIf so, call exit_loop. Otherwise list the mistakes.",
    tools=[exit_loop],
    output_key="mistakes",
)
mender = LlmAgent(
    name="mender",
    model=MODEL,
    include_contents="none",
    instruction="Mend {translation}. Mistakes: {mistakes}",
    output_key="translation",
)

root_agent = SequentialAgent(
    name="translation",
    sub_agents=[translator, LoopAgent(name="check", sub_agents=[checker, mender], max_iterations=3)],
)

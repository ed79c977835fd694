"""A pipeline of agents that write, review and refactor code; each reads its input from the state."""

from runtime.agents.llm_agent import LlmAgent
from runtime.agents.sequential_agent import SequentialAgent

MODEL = "gemini-2.5-flash"

code_writer_agent = LlmAgent(
    name="CodeWriterAgent",
    model=MODEL,
    description="Writes the first version of some Python code.",
    instruction="Write Python code for what the person asks for. Answer with the code alone.",
    output_key="generated_code",
)

code_reviewer_agent = LlmAgent(
    name="CodeReviewerAgent",
    model=MODEL,
    description="Reviews code.",
    instruction="Review this code:\n{generated_code}\nAnswer with a short list of what to improve.",
    output_key="review_comments",
)

code_refactorer_agent = LlmAgent(
    name="CodeRefactorerAgent",
    model=MODEL,
    description="Improves code as a review says.",
    instruction="Improve this code:\n{generated_code}\nas this review says:\n{review_comments}",
    output_key="refactored_code",
)

root_agent = SequentialAgent(
    name="CodePipelineAgent",
    description="Writes, reviews and refactors code.",
    sub_agents=[code_writer_agent, code_reviewer_agent, code_refactorer_agent],
)

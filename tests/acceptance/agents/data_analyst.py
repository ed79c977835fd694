"""An analyst that writes Python and reads what the program printed."""

from runtime.agents import LlmAgent
from runtime.code_executors import UnsafeLocalCodeExecutor

MODEL = "gemini-2.5-flash"

root_agent = LlmAgent(
    name="analyst",
    model=MODEL,
    instruction="Compute with Python code. The sales of the year are {sales}.",
    code_executor=UnsafeLocalCodeExecutor(),
    output_key="finding",
)

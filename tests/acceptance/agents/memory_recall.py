"""Agents with memory: one stores its session, others search memory by a tool call or before each request."""

from runtime.agents import LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.tools import load_memory, preload_memory

MODEL = "gemini-2.5-flash"


async def remember_session(callback_context: CallbackContext) -> None:
    """Add the session to memory."""
    await callback_context.add_session_to_memory()


info_capture_agent = LlmAgent(
    name="InfoCaptureAgent",
    model=MODEL,
    instruction="Acknowledge what the person says.",
    after_agent_callback=remember_session,
)

memory_recall_agent = LlmAgent(
    name="MemoryRecallAgent",
    model=MODEL,
    instruction="Answer the person's question. Use load_memory if the answer may be in an earlier session.",
    tools=[load_memory],
)

preloading_agent = LlmAgent(
    name="PreloadingAgent",
    model=MODEL,
    instruction="Answer the person's question.",
    tools=[preload_memory],
)

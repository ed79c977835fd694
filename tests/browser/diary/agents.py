"""The agent `diary`: the demo model, which remembers likes of ended chats."""

from adk_site.demo import DEMO_MODEL
from runtime.agents import LlmAgent
from runtime.tools import load_memory

root_agent = LlmAgent(name="diary", model=DEMO_MODEL, tools=[load_memory])

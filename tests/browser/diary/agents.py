"""The agent `diary`: the demo model, which remembers likes of ended chats, and looks up the handbook."""

from adk_site.demo import DEMO_MODEL
from runtime.agents import LlmAgent
from runtime.tools import load_memory
from runtime.tools.retrieval import KnowledgeToolset

root_agent = LlmAgent(
    name="diary", model=DEMO_MODEL, tools=[load_memory, KnowledgeToolset(bases=["handbook"])]
)

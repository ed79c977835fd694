"""Agents: nodes of a tree that turn an invocation into events."""

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import Agent, LlmAgent
from runtime.agents.loop_agent import LoopAgent
from runtime.agents.parallel_agent import ParallelAgent
from runtime.agents.sequential_agent import SequentialAgent
from runtime.context import Context, InvocationContext
from runtime.run_config import RunConfig

__all__ = [
    "Agent",
    "BaseAgent",
    "Context",
    "InvocationContext",
    "LlmAgent",
    "LoopAgent",
    "ParallelAgent",
    "RunConfig",
    "SequentialAgent",
]

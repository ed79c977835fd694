"""The Agent Development Kit runtime: agents, tools, sessions and the event loop around them."""

from runtime.agents import Agent
from runtime.runners import Runner

__all__ = ["Agent", "Runner"]

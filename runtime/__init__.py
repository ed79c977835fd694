"""The Agent Development Kit runtime: agents, tools, sessions and the event loop around them."""

from runtime.agents import Agent, Context
from runtime.events import Event
from runtime.runners import Runner
from runtime.workflow import Workflow

__all__ = ["Agent", "Context", "Event", "Runner", "Workflow"]

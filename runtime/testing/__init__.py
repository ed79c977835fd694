"""Test agents with pytest: a scripted model, runs in memory, and matchers for events.

The fixtures are in `runtime.testing.plugin`: add it to `pytest_plugins` of the test module or the top `conftest.py`.
"""

from runtime.testing.agent_runner import AgentRunner
from runtime.testing.matchers import EventMatcher, calls, responds, says, transfers_to
from runtime.testing.scripted_model import ScriptedModel, ScriptModel, call

__all__ = [
    "AgentRunner",
    "EventMatcher",
    "ScriptModel",
    "ScriptedModel",
    "call",
    "calls",
    "responds",
    "says",
    "transfers_to",
]

"""Agent-to-Agent protocol (A2A), through the optional package `a2a-sdk`."""

from importlib.util import find_spec

from runtime.errors import ConfigurationError, how_to_install

if find_spec("a2a") is None:
    raise ConfigurationError(f"A2A needs the package 'a2a-sdk': {how_to_install('a2a')}")

from a2a.client import ClientFactory
from a2a.types import AgentCard, Message, SendMessageRequest

__all__ = ["AgentCard", "ClientFactory", "Message", "SendMessageRequest"]

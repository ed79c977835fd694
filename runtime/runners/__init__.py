"""Runners: they run the invocations of an app in sessions."""

from runtime.runners.in_memory_runner import InMemoryRunner
from runtime.runners.runner import Runner

__all__ = ["InMemoryRunner", "Runner"]

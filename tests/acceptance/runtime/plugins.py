"""Plugins and a session service that record or fail, for the tests of callbacks."""

from __future__ import annotations

from typing import Any

from runtime.agents import InvocationContext
from runtime.events import Event
from runtime.plugins import BasePlugin
from runtime.sessions import InMemorySessionService, Session


class Watcher(BasePlugin):
    """Records the errors that end runs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.errors: list[Exception] = []

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        self.errors.append(error)


class FullSessionService(InMemorySessionService):
    """Stores no event, as if the disk were full."""

    async def append_event(self, session: Session, event: Event) -> Event:
        raise OSError("full")


class RecordingPlugin(BasePlugin):
    """Records the calls of its hooks, and returns or raises the given answers."""

    def __init__(self, name: str, calls: list[str], **answers: Any) -> None:
        super().__init__(name)
        self.calls = calls
        self.answers = answers

    def _record(self, hook: str) -> Any:
        self.calls.append(f"{self.name} {hook}")
        answer = self.answers.get(hook)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def on_user_message_callback(self, **kwargs: Any) -> Any:
        return self._record("on_user_message")

    async def before_run_callback(self, **kwargs: Any) -> Any:
        return self._record("before_run")

    async def after_run_callback(self, **kwargs: Any) -> None:
        self._record("after_run")

    async def on_event_callback(self, **kwargs: Any) -> Any:
        return self._record("on_event")

    async def before_agent_callback(self, **kwargs: Any) -> Any:
        return self._record("before_agent")

    async def after_agent_callback(self, **kwargs: Any) -> Any:
        return self._record("after_agent")

    async def before_model_callback(self, **kwargs: Any) -> Any:
        return self._record("before_model")

    async def after_model_callback(self, **kwargs: Any) -> Any:
        return self._record("after_model")

    async def on_model_error_callback(self, **kwargs: Any) -> Any:
        return self._record("on_model_error")

    async def before_tool_callback(self, **kwargs: Any) -> Any:
        return self._record("before_tool")

    async def after_tool_callback(self, **kwargs: Any) -> Any:
        return self._record("after_tool")

    async def on_tool_error_callback(self, **kwargs: Any) -> Any:
        return self._record("on_tool_error")

"""Exceptions of a run's tools, kept until the events with the tools' responses are stored."""

import logging

from runtime.events.calls import response_ids
from runtime.events.event import Event as RuntimeEvent
from runtime.valid_text import storable
from sessions_app.models.call_error import ERROR_LENGTH
from sessions_app.secrets.error_detail import describe
from sessions_app.store.sql.event_rows import StagedError

logger = logging.getLogger(__name__)


class CallErrors:
    """Keeps the last exception of each call until the event with the response of the call takes it."""

    def __init__(self) -> None:
        self._by_call: dict[str, tuple[Exception, StagedError]] = {}

    def note(self, call_id: str, tool_name: str, error: Exception) -> None:
        """Keep an exception. Never raises."""
        # A failure here must not stop the answer of the tool.
        try:
            name = storable(type(error).__name__)[:ERROR_LENGTH]
            staged = StagedError(storable(call_id), storable(tool_name), name, describe(error))
            self._by_call[call_id] = error, staged
        except Exception:
            logger.exception("The error of call %s was not kept", call_id)

    def take(self, event: RuntimeEvent) -> list[StagedError]:
        """Return the exceptions of the calls answered by the event, and forget them."""
        if not self._by_call:
            return []
        taken = []
        for call_id in sorted(response_ids(event)):
            if call_id in self._by_call:
                _error, staged = self._by_call.pop(call_id)
                taken.append(staged)
        return taken

    def tool_that_raised(self, error: Exception) -> str:
        """Return the name of the tool whose unanswered call raised this exception; empty for other exceptions."""
        # An agent run as a tool raises the exception of its own tool: the last call is the one in the log.
        for raised, staged in reversed(self._by_call.values()):
            if raised is error:
                return staged.tool_name
        return ""

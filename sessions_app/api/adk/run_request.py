"""Body of `/run` and `/run_sse`."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator

from runtime import types
from sessions_app.api.adk.schemas import AdkSchema


class RunRequest(AdkSchema):
    """A message, an answer to a call, or a run to resume.

    Attributes:
        function_call_event_id: event of the call that the message answers. With it no event is split into two frames.
        invocation_id: run to resume when there is no message.
    """

    app_name: str
    user_id: str
    session_id: str
    new_message: types.Content | None = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    function_call_event_id: str | None = None
    invocation_id: str | None = None

    @field_validator("new_message")
    @classmethod
    def _has_sendable_parts(cls, message: types.Content | None) -> types.Content | None:
        for part in (message.parts or []) if message else []:
            if part.text is None and part.inline_data is None and part.function_response is None:
                raise ValueError("A part has text, inlineData or a functionResponse")
        return message

    @property
    def _parts(self) -> list[types.Part]:
        return (self.new_message.parts or []) if self.new_message else []

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self._parts if part.text)

    @property
    def files(self) -> list[types.Blob]:
        return [part.inline_data for part in self._parts if part.inline_data]

    @property
    def answers(self) -> list[types.FunctionResponse]:
        return [part.function_response for part in self._parts if part.function_response]

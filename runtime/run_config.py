"""RunConfig: how one invocation is run (spec L10)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from runtime import types


class StreamingMode(Enum):
    """Whether the model's answer comes in pieces. BIDI is of live sessions, which are not offered: it is refused."""

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class RunConfig(BaseModel):
    """Settings of an invocation.

    Attributes:
        max_llm_calls: model calls allowed, those of agents that run as tools included; zero or less means no limit.
        llm_calls_before: those that an interrupted attempt at the invocation has made: they count, too.
        save_input_blobs_as_artifacts: store files in the user's message as artifacts and name them in its place.
        support_cfc: compositional function calling. Live only: kept for code that sets it, and without effect.
        response_modalities: live only, as `support_cfc`; set them in an agent's `generate_content_config`.
        speech_config: live only, as `support_cfc`; set it in an agent's `generate_content_config`.
        custom_metadata: put on every event of the invocation.

    Raises:
        ValueError: the streaming mode is BIDI.
    """

    model_config = ConfigDict(extra="forbid")

    streaming_mode: StreamingMode = StreamingMode.NONE
    max_llm_calls: int = 500
    llm_calls_before: int = 0
    save_input_blobs_as_artifacts: bool = False
    support_cfc: bool = False
    response_modalities: list[str] | None = None
    speech_config: types.SpeechConfig | None = None
    custom_metadata: dict[str, Any] | None = None

    @field_validator("streaming_mode")
    @classmethod
    def _check_streaming_mode(cls, mode: StreamingMode) -> StreamingMode:
        if mode is StreamingMode.BIDI:
            raise ValueError(
                "StreamingMode.BIDI is of live sessions, which are not offered. Use SSE for answers in pieces, or NONE."
            )
        return mode

"""RunConfig: how one invocation is run (spec L10)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict

from runtime import types


class StreamingMode(Enum):
    """Whether the model's answer comes in pieces. BIDI is kept for its name; live mode is not offered."""

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class RunConfig(BaseModel):
    """Settings of an invocation.

    Attributes:
        max_llm_calls: model calls allowed; zero or less means no limit.
        llm_calls_before: those that an interrupted attempt at the invocation has made: they count, too.
        save_input_blobs_as_artifacts: store files in the user's message as artifacts and name them in its place.
        support_cfc: compositional function calling; kept for agents that set it, only live models use it.
        custom_metadata: put on every event of the invocation.
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

"""RunConfig: settings of one invocation (contract L10)."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from runtime import types


class StreamingMode(Enum):
    """Delivery of a model response: whole (NONE) or in partial events (SSE).

    BIDI belongs to live sessions, which the runtime does not support; `RunConfig` refuses it.
    """

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class RunConfig(BaseModel):
    """Settings of an invocation.

    Attributes:
        max_llm_calls: Limit of model calls, including those of agents run as tools; zero or less means no limit.
        llm_calls_before: Model calls already made by interrupted attempts at the invocation; counted in the limit.
        records_failure: True when an exception of an agent leaves an error event (contract L5). With False, the caller
            records the failure.
        save_input_blobs_as_artifacts: Store files of the user's message as artifacts; the message keeps their names.
        support_cfc: Ignored (compositional function calling exists only in live sessions).
        response_modalities: Ignored (live sessions only); set them in an agent's `generate_content_config`.
        speech_config: Ignored (live sessions only); set it in an agent's `generate_content_config`.
        custom_metadata: Metadata added to every event of the invocation.

    Raises:
        ValueError: the streaming mode is BIDI.
    """

    model_config = ConfigDict(extra="forbid")

    streaming_mode: StreamingMode = StreamingMode.NONE
    max_llm_calls: int = 500
    llm_calls_before: int = 0
    records_failure: bool = True
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
                "StreamingMode.BIDI needs live sessions, which are not supported. Use SSE for partial events, or NONE."
            )
        return mode

"""RunConfig: settings of an invocation (contract L10)."""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runtime import types
from runtime.events.event import Event
from runtime.models.base_llm import BaseLlm

logger = logging.getLogger(__name__)
StageWait = Callable[[str, Any, datetime], dict[str, Any]]
"""Function of the name of a wait, the context of its call, and its end. Returns the pending response to the call."""


@runtime_checkable
class HasModel(Protocol):
    """Agent with a model."""

    @property
    def canonical_model(self) -> BaseLlm: ...


@dataclass(frozen=True)
class CallEnd:
    """End of a call, reported while other calls of its step may still run."""

    call: types.FunctionCall
    response: Mapping[str, Any]
    seconds: float


@dataclass
class ModelCall:
    """A model call of a step, as it was made.

    Attributes:
        event_id: id of the event of the whole answer.
        last_seq: number of the last event used for the contents.
        this_turn_only: True if the contents begin with the latest message to the agent.
        derived: contents as derived from the log, with the files that they refer to.
        contents: contents as sent; the same objects as in `derived` if they were not changed.
        failed_attempts: errors of attempts before the last attempt.
        first_word_seconds: time to the first part of the answer; None before it.
        inside: ids of the calls within which the agent runs as a tool, the outermost first.
        answer: event of the whole answer; None before the answer, and if it never comes.
    """

    event_id: str
    agent: str
    branch: str | None
    last_seq: int
    this_turn_only: bool
    derived: Sequence[types.Content]
    contents: Sequence[types.Content]
    model: str | None
    config: types.GenerateContentConfig
    started_at: float
    failed_attempts: Sequence[str] = ()
    first_word_seconds: float | None = None
    inside: tuple[str, ...] = ()
    answer: Event | None = None


class StreamingMode(Enum):
    """Delivery of a model response: as a whole (NONE) or in partial events (SSE).

    BIDI is for live sessions, which the runtime does not support; `RunConfig` refuses it.
    """

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class ToolThreadPoolConfig(BaseModel):
    """Number of threads for synchronous tools in google-adk; without effect here."""

    model_config = ConfigDict(extra="forbid")

    max_workers: int = Field(default=4, ge=1)


class _IgnoredSettings(BaseModel):
    """Settings of google-adk without effect here; `RunConfig` logs a warning if they are set."""

    # Live sessions
    response_modalities: list[types.Modality | str] | None = None
    speech_config: types.SpeechConfig | None = None
    avatar_config: types.AvatarConfig | None = None
    support_cfc: bool = False
    output_audio_transcription: types.AudioTranscriptionConfig | None = None
    input_audio_transcription: types.AudioTranscriptionConfig | None = None
    realtime_input_config: types.RealtimeInputConfig | None = None
    explicit_vad_signal: bool | None = None
    translation_config: types.TranslationConfig | None = None
    enable_affective_dialog: bool | None = None
    proactivity: types.ProactivityConfig | None = None
    session_resumption: types.SessionResumptionConfig | None = None
    history_config: types.HistoryConfig | None = None
    context_window_compression: types.ContextWindowCompressionConfig | None = None
    save_live_blob: bool = False
    save_live_audio: bool = False
    # Services of the provider, and choices that the runtime makes itself
    service_tier: str | None = None
    telemetry: Any | None = None
    tool_thread_pool_config: ToolThreadPoolConfig | None = None
    get_session_config: Any | None = None
    include_thoughts_from_other_agents: bool = False


def _allow_all(agent: Any) -> None:
    """Let each agent run."""


class RunConfig(_IgnoredSettings):
    """Settings of an invocation.

    Attributes:
        max_llm_calls: limit of model calls, including those of agents run as tools; zero or less means no limit.
        llm_calls_before: model calls of interrupted attempts at this invocation; they count towards the limit.
        save_input_blobs_as_artifacts: store files of the user's message as artifacts; the message keeps their names.
        on_call_end: callback at the end of each call in a step with several calls. The event with their responses is
            committed when the last call has ended, and keeps the durations (`runtime.events.calls`). A call that
            waits for a person has not ended.
        on_tool_error: callback with call id, tool name and exception of each tool that raises, even if a hook answers
            the call instead. It must not raise.
        on_failure: callback with the name of the agent that failed, the path of the failed node's run (None outside of
            a workflow), and the exception. It takes the place of the error event (contract L5): the caller records the
            failure. It must not raise.
        on_model_call: callback at the start of each model call. Its argument is complete when the event of the answer
            is committed. For an agent that runs as a tool, this is the event with the tool's answer.
        choose_model: returns the model for the next call of an LLM agent, from the session's state; None for the
            agent's own model.
        check_agent: callback with each agent, also one that runs as a tool, before it runs or resumes. An agent for
            which it raises does not run.
        stage_wait: takes over the waits of workflows, whose calls are then answered from outside; None: the process
            waits.
        custom_metadata: metadata added to every event of the invocation.
        model_input_context: contents sent to the model before the user's message, but not stored.
        user_instructions_limit: characters of the user's own instructions, the state's `user:custom_instructions`, that
            agents get; 0 gives them none (contract A3).
        http_options: headers, time-out, retries and extra body of the requests; they override the agent's.
        labels: labels of the requests; they override the agent's.

    Raises:
        ValueError: the streaming mode is BIDI, or `max_llm_calls` is too large to be a limit.
    """

    model_config = ConfigDict(extra="forbid")

    streaming_mode: StreamingMode = StreamingMode.NONE
    max_llm_calls: int = 500
    llm_calls_before: int = 0
    on_call_end: Callable[[CallEnd], None] | None = None
    on_tool_error: Callable[[str, str, Exception], None] | None = None
    on_failure: Callable[[str, str | None, Exception], None] | None = None
    on_model_call: Callable[[ModelCall], None] | None = None
    choose_model: Callable[[Mapping[str, Any]], BaseLlm | None] | None = None
    check_agent: Callable[[Any], None] = _allow_all
    stage_wait: StageWait | None = None
    save_input_blobs_as_artifacts: bool = False
    custom_metadata: dict[str, Any] | None = None
    model_input_context: list[types.Content] | None = None
    user_instructions_limit: int = 0
    http_options: types.HttpOptions | None = None
    labels: dict[str, str] | None = None

    def model_of(self, agent: HasModel, state: Mapping[str, Any]) -> BaseLlm:
        """Return the model for the next call of an agent: the model chosen in the state, else the agent's own."""
        chosen = self.choose_model(state) if self.choose_model else None
        return chosen or agent.canonical_model

    def for_child(self, call_id: str | None) -> "RunConfig":
        """Return the settings of an agent that runs as a tool. Its text is returned to its caller as a whole.

        Args:
            call_id: the call that the agent answers; without an id, its model calls are not reported.
        """
        report = self.on_model_call

        def report_inside(call: ModelCall) -> None:
            call.inside = (call_id or "", *call.inside)
            call.derived = ()  # The caller's log gives nothing of the agent's own session.
            if report:
                report(call)

        return self.model_copy(
            update={
                "streaming_mode": StreamingMode.NONE,
                # The caller's scope counts the calls of both, including those of earlier attempts.
                "llm_calls_before": 0,
                "on_call_end": None,
                "on_tool_error": None,
                "on_failure": None,
                "stage_wait": None,  # Nobody answers the calls of its own session.
                "on_model_call": report_inside if report and call_id else None,
            }
        )

    @field_validator("streaming_mode")
    @classmethod
    def _check_streaming_mode(cls, mode: StreamingMode) -> StreamingMode:
        if mode is StreamingMode.BIDI:
            raise ValueError(
                "StreamingMode.BIDI needs live sessions, which are not supported. Use SSE for partial events, or NONE."
            )
        return mode

    @field_validator("max_llm_calls")
    @classmethod
    def validate_max_llm_calls(cls, value: int) -> int:
        """Return the limit; log a warning if zero or less turns it off.

        Raises:
            ValueError: the number is too large to be a limit.
        """
        if value >= sys.maxsize:
            raise ValueError(f"max_llm_calls should be less than {sys.maxsize}. Use 0 for no limit.")
        if value <= 0:
            logger.warning(
                "max_llm_calls is %s, so agents that call tools in circles are not stopped. Set a limit above 0.",
                value,
            )
        return value

    @model_validator(mode="after")
    def _warn_of_ignored(self) -> Self:
        ignored = [name for name in _IgnoredSettings.model_fields if getattr(self, name)]
        if ignored:
            logger.warning(
                "RunConfig settings without effect: %s. See docs/adk-differences.md.", ", ".join(ignored)
            )
        return self

"""LlmResponse: output of a model call."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime import types
from runtime.models.stop_reasons import why_refused, why_stopped

# Finish reasons of a successful answer. MAX_TOKENS is a success, too, if a part of the answer has arrived.
_COMPLETE = {types.FinishReason.STOP, types.FinishReason.FINISH_REASON_UNSPECIFIED}

# Fields that describe a part: without a text, a part with nothing else is empty.
_DESCRIPTIONS = {"thought", "thought_signature", "part_metadata", "video_metadata", "media_resolution"}

NO_CONTENT = "MODEL_RETURNED_NO_CONTENT"
"""Error code of a response that ended successfully without an answer, as google-adk names it."""
WITHOUT_ANSWER = "The model sent a response without an answer."


class LlmResponse(BaseModel):
    """A response of a model, or a piece of a response when `partial` (contract E1, E7).

    `error_code` and `error_message` say why the answer is missing or incomplete; `content` then holds the parts
    received so far. `error_detail` holds the provider's text for staff, and is left out of JSON. Names are camelCase in
    JSON; unknown fields are ignored on load.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        protected_namespaces=(),
    )

    content: types.Content | None = None
    partial: bool | None = None
    turn_complete: bool | None = None
    interrupted: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_detail: str | None = Field(default=None, exclude=True, repr=False)
    finish_reason: types.FinishReason | None = None
    usage_metadata: types.GenerateContentResponseUsageMetadata | None = None
    grounding_metadata: types.GroundingMetadata | None = None
    citation_metadata: types.CitationMetadata | None = None
    avg_logprobs: float | None = None
    logprobs_result: types.LogprobsResult | None = None
    custom_metadata: dict[str, Any] | None = None
    model_version: str | None = None

    @classmethod
    def create(cls, generate_content_response: types.GenerateContentResponse) -> "LlmResponse":
        """Build a response from the first candidate. A refused prompt or a stopped answer sets the error fields."""
        candidates = generate_content_response.candidates or [types.Candidate()]
        candidate = candidates[0]
        if candidate.finish_reason is None and not parts_in(candidate.content):
            return _without_candidate(generate_content_response)
        error_code, error_message = _stop_error(candidate)
        return cls(
            content=candidate.content,
            error_code=error_code,
            error_message=error_message,
            error_detail=candidate.finish_message if error_code else None,
            finish_reason=candidate.finish_reason,
            usage_metadata=generate_content_response.usage_metadata,
            grounding_metadata=candidate.grounding_metadata,
            citation_metadata=candidate.citation_metadata,
            avg_logprobs=candidate.avg_logprobs,
            logprobs_result=candidate.logprobs_result,
            model_version=generate_content_response.model_version,
        )

    def is_unanswered(self) -> bool:
        """Return True if the model ended its answer successfully, but has given none."""
        return self.finish_reason in _COMPLETE and not self.error_code and not has_answer(self.content)

    def get_function_calls(self) -> list[types.FunctionCall]:
        """Return the function calls in the content, in order."""
        return [part.function_call for part in parts_in(self.content) if part.function_call]

    def get_function_responses(self) -> list[types.FunctionResponse]:
        """Return the function responses in the content, in order."""
        return [part.function_response for part in parts_in(self.content) if part.function_response]


def parts_in(content: types.Content | None) -> list[types.Part]:
    """Return the parts of a content; none without a content."""
    if content is None:
        return []
    return content.parts or []


def text_in(content: types.Content | None, separator: str = "") -> str:
    """Return the text parts of a content, joined; thoughts are left out."""
    return separator.join([part.text for part in parts_in(content) if part.text and not part.thought])


def has_answer(content: types.Content | None) -> bool:
    """Return True if the content has a call, code, or a file or text that is neither empty nor a thought."""
    return any(map(_is_answer, parts_in(content)))


def _is_answer(part: types.Part) -> bool:
    if part.text is not None:
        return bool(part.text.strip()) and not part.thought
    if part.inline_data is not None:
        return bool(part.inline_data.data) and not part.thought
    return any(value is not None and name not in _DESCRIPTIONS for name, value in part)


def _stop_error(candidate: types.Candidate) -> tuple[str, str] | tuple[None, None]:
    reason = candidate.finish_reason
    if reason is None or reason in _COMPLETE:
        return None, None
    if reason is types.FinishReason.MAX_TOKENS and has_answer(candidate.content):
        return None, None
    return str(reason.value), why_stopped(reason)


def _without_candidate(response: types.GenerateContentResponse) -> LlmResponse:
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        code = str(feedback.block_reason.value)
        message = why_refused(feedback.block_reason)
        detail = feedback.block_reason_message
    else:
        code = "EMPTY_RESPONSE"
        message = WITHOUT_ANSWER
        detail = None
    return LlmResponse(
        error_code=code,
        error_message=message,
        error_detail=detail,
        usage_metadata=response.usage_metadata,
        model_version=response.model_version,
    )

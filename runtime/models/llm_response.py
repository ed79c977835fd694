"""LlmResponse: output of a model call, with sentences for answers that ended without success or were refused."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime import types

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
        return calls_in(self.content)

    def get_function_responses(self) -> list[types.FunctionResponse]:
        """Return the function responses in the content, in order."""
        return responses_in(self.content)


def parts_in(content: types.Content | None) -> list[types.Part]:
    """Return the parts of a content; none without a content."""
    if content is None:
        return []
    return content.parts or []


def calls_in(content: types.Content | None) -> list[types.FunctionCall]:
    """Return the function calls in a content, in order."""
    return [part.function_call for part in parts_in(content) if part.function_call]


def responses_in(content: types.Content | None) -> list[types.FunctionResponse]:
    """Return the function responses in a content, in order."""
    return [part.function_response for part in parts_in(content) if part.function_response]


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


# google-genai has an enum of reasons for each table. Providers add reasons, which google-genai reads as new members:
# these have the sentence of `OTHER`.
_STOPPED = {
    "MAX_TOKENS": "The model reached its limit before it could answer. Ask for less at once.",
    "SAFETY": "The model stopped its answer because of its safety rules. Ask in other words.",
    "RECITATION": "The model stopped its answer because it repeated a published text. Ask in other words.",
    "LANGUAGE": "The model does not know this language well enough. Write in another language.",
    "OTHER": "The model stopped its answer and did not say why. Try again.",
    "BLOCKLIST": "The model stopped its answer because of a forbidden word. Ask in other words.",
    "PROHIBITED_CONTENT": "The model stopped its answer because its content is not allowed. Ask in other words.",
    "SPII": "The model stopped its answer because of personal data in it. Ask in other words.",
    "MALFORMED_FUNCTION_CALL": "The model wanted to use a tool in a way that cannot be read. Try again.",
    "IMAGE_SAFETY": "The model made no image because of its safety rules. Describe another image.",
    "IMAGE_PROHIBITED_CONTENT": (
        "The model made no image because its content is not allowed. Describe another image."
    ),
    "IMAGE_OTHER": "The model made no image and did not say why. Try again.",
    "NO_IMAGE": "The model made no image and did not say why. Try again.",
    "IMAGE_RECITATION": (
        "The model made no image because it would repeat a published one. Describe another image."
    ),
    "UNEXPECTED_TOOL_CALL": "The model wanted to use a tool that it does not have. Try again.",
    "TOO_MANY_TOOL_CALLS": "The model used too many tools for one answer. Ask for less at once.",
    "MISSING_THOUGHT_SIGNATURE": "The model cannot go on with this chat. Begin a new one.",
    "MALFORMED_RESPONSE": "The model's answer cannot be read. Try again.",
    "ESCALATION": "The model stopped its answer because of its provider's rules. Ask in other words.",
    "PUP_LIMITED_DISABLED": (
        "The model's provider has limited this account. Tell the people who run this site."
    ),
    "CONTINUATION": "The model reached its limit before it could answer. Ask for less at once.",
    "MODEL_ARMOR": "A filter stopped the model's answer. Ask in other words.",
}
_REFUSED = {
    "SAFETY": "The model refused the request because of its safety rules. Ask in other words.",
    "OTHER": "The model refused the request and did not say why. Ask in other words.",
    "BLOCKLIST": "The model refused the request because of a forbidden word. Ask in other words.",
    "PROHIBITED_CONTENT": "The model refused the request because its content is not allowed. Ask in other words.",
    "IMAGE_SAFETY": "The model refused to make this image because of its safety rules. Describe another image.",
    "MODEL_ARMOR": "A filter refused the request. Ask in other words.",
    "JAILBREAK": "The model refused the request because it is against its rules. Ask in other words.",
}


def why_stopped(reason: types.FinishReason) -> str:
    """Return a sentence for the user about an answer that ended with this reason."""
    return _STOPPED.get(reason.value, _STOPPED["OTHER"])


def why_refused(reason: types.BlockedReason) -> str:
    """Return a sentence for the user about a request that was refused for this reason."""
    return _REFUSED.get(reason.value, _REFUSED["OTHER"])

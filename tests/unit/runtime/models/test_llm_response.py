"""`LlmResponse`: what a model's answer becomes, and its JSON (spec E1, E7)."""

from __future__ import annotations

import json

import pytest

from runtime import types
from runtime.models import LlmResponse


def response_of(**candidate: object) -> LlmResponse:
    return LlmResponse.create(types.GenerateContentResponse.model_validate({"candidates": [candidate]}))


HELLO = {"role": "model", "parts": [{"text": "Hello"}]}


def test_e1_json_is_camel_case_and_comes_back_unchanged() -> None:
    part = types.Part(
        inline_data=types.Blob(data=b"\xff\xfe", mime_type="image/png"), thought_signature=b"\xfb"
    )
    response = LlmResponse(
        content=types.Content(role="model", parts=[part]),
        turn_complete=True,
        finish_reason=types.FinishReason.STOP,
        custom_metadata={"own_key": 1},
    )
    written = response.model_dump_json(by_alias=True, exclude_none=True)
    assert set(json.loads(written)) == {"content", "turnComplete", "finishReason", "customMetadata"}
    assert LlmResponse.model_validate_json(written) == response


def test_e1_unknown_fields_are_ignored_on_load() -> None:
    assert LlmResponse.model_validate({"errorCode": "X", "fromTheFuture": 1}) == LlmResponse(error_code="X")


@pytest.mark.parametrize("reason", ["STOP", "FINISH_REASON_UNSPECIFIED", "MAX_TOKENS", None])
def test_e7_an_answer_with_content_is_no_error(reason: str | None) -> None:
    response = response_of(content=HELLO, finishReason=reason)
    assert response.content is not None
    assert response.error_code is None and response.error_message is None


@pytest.mark.parametrize("content", [None, HELLO])
def test_e7_a_stopped_answer_tells_the_reason_that_the_model_gave(content: object) -> None:
    response = response_of(content=content, finishReason="RECITATION", finishMessage="Too close to a book.")
    assert (response.error_code, response.error_message) == ("RECITATION", "Too close to a book.")
    assert (response.content is None) == (content is None)


def test_e7_an_answer_may_be_empty() -> None:
    assert response_of(finishReason="STOP").error_code is None


def test_e7_the_reason_of_a_refused_prompt_is_told() -> None:
    refusal = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not this."}}
    response = LlmResponse.create(types.GenerateContentResponse.model_validate(refusal))
    assert (response.error_code, response.error_message) == ("SAFETY", "Not this.")


def test_e7_a_response_without_anything_is_an_error() -> None:
    assert LlmResponse.create(types.GenerateContentResponse()).error_code == "EMPTY_RESPONSE"

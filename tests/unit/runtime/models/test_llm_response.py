"""`LlmResponse`: conversion of a model's answer, and its JSON (contract E1, E7)."""

from __future__ import annotations

import json
import re

import pytest

from runtime import types
from runtime.models import LlmResponse
from runtime.models.llm_response import why_refused, why_stopped


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


def test_the_calls_of_a_response_are_read_as_those_of_an_event() -> None:
    call, answer = types.FunctionCall(name="find"), types.FunctionResponse(name="find")
    parts = [types.Part(text="So."), types.Part(function_call=call), types.Part(function_response=answer)]
    response = LlmResponse(content=types.Content(role="model", parts=parts))
    assert response.get_function_calls() == [call] and response.get_function_responses() == [answer]
    assert LlmResponse().get_function_calls() == []


@pytest.mark.parametrize("reason", ["STOP", "FINISH_REASON_UNSPECIFIED", "MAX_TOKENS", None])
def test_e7_a_complete_answer_is_no_error(reason: str | None) -> None:
    response = response_of(content=HELLO, finishReason=reason)
    assert response.content is not None
    assert response.error_code is None and response.error_message is None


@pytest.mark.parametrize("content", [None, HELLO])
def test_e7_a_stopped_answer_has_the_models_reason_as_its_error(content: object) -> None:
    response = response_of(content=content, finishReason="RECITATION", finishMessage="Too close to a book.")
    assert (response.error_code, response.error_detail) == ("RECITATION", "Too close to a book.")
    assert response.error_message == why_stopped(types.FinishReason.RECITATION)
    assert (response.content is None) == (content is None)


@pytest.mark.parametrize("parts", [[], [{"text": "Hm", "thought": True}], [{"text": " "}]])
def test_e7_an_answer_cut_before_its_first_word_is_an_error(parts: object) -> None:
    response = response_of(content={"parts": parts}, finishReason="MAX_TOKENS")
    assert response.error_code == "MAX_TOKENS"


def test_e7_each_reason_of_a_provider_is_a_sentence_without_its_name() -> None:
    known = list(types.FinishReason)
    with pytest.warns(UserWarning, match="A_NEW_REASON"):
        unknown = types.FinishReason("A_NEW_REASON")
    words = [why_stopped(reason) for reason in (*known, unknown)]
    words += [why_refused(reason) for reason in types.BlockedReason]
    assert [sentence for sentence in words if re.search(r"[A-Z]{2}|_", sentence)] == []
    without_a_why = [reason for reason in known if why_stopped(reason) == why_stopped(unknown)]
    assert [reason.name for reason in without_a_why] == ["FINISH_REASON_UNSPECIFIED", "STOP", "OTHER"]


def test_e7_an_empty_answer_is_no_error() -> None:
    assert response_of(finishReason="STOP").error_code is None


def test_e7_a_refused_prompt_has_its_reason_as_the_error() -> None:
    refusal = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "Not this."}}
    response = LlmResponse.create(types.GenerateContentResponse.model_validate(refusal))
    assert (response.error_code, response.error_detail) == ("SAFETY", "Not this.")
    assert response.error_message == why_refused(types.BlockedReason.SAFETY)
    assert "Not this." not in response.model_dump_json()


@pytest.mark.parametrize("response", [{}, {"candidates": [{}]}, {"candidates": [{"content": {"parts": []}}]}])
def test_e7_a_response_without_answer_and_reason_is_an_error(response: object) -> None:
    read = types.GenerateContentResponse.model_validate(response)
    assert LlmResponse.create(read).error_code == "EMPTY_RESPONSE"

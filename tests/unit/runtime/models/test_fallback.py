"""`FallbackLlm`: another model answers when one fails before its first token (contract M4)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.errors import ConfigurationError, ModelError
from runtime.models import BaseLlm, Claude, FallbackLlm, Gemini, LlmRequest, OpenAICompatible
from tests.contracts.model_calls import answer, ask, question, texts, user_says
from tests.model_server import Failure, ModelServer, Turn

FAILED = Turn(failure=Failure(http_status=500, message="Down."))
ONCE = types.HttpRetryOptions(attempts=1)


@pytest.fixture
def first(server: ModelServer) -> BaseLlm:
    return OpenAICompatible(
        model="gpt-test", api_key="k", base_url=f"{server.url}/v1", timeout=10, retry_options=ONCE
    )


@pytest.fixture
def second(server: ModelServer) -> BaseLlm:
    return Claude(model="claude-test", api_key="k", base_url=server.url, timeout=10, retry_options=ONCE)


@pytest.fixture
def llm(first: BaseLlm, second: BaseLlm) -> FallbackLlm:
    return FallbackLlm([first, second])


@pytest.mark.parametrize("stream", [False, True])
async def test_m4_the_next_model_answers_when_one_fails(
    server: ModelServer, llm: FallbackLlm, stream: bool
) -> None:
    server.play(FAILED, Turn(text=["Second."]))
    request = question()
    request.model = llm.model
    assert texts(await answer(llm, request, stream=stream)) == ["Second."]
    assert [sent.model for sent in server.requests] == ["gpt-test", "claude-test"]
    assert request.model == llm.model


async def test_m4_the_first_model_answers_alone_when_it_can(server: ModelServer, llm: FallbackLlm) -> None:
    server.play(Turn(text=["First."]))
    assert texts(await answer(llm, stream=True)) == ["First."]
    assert len(server.requests) == 1


async def test_m4_a_stream_that_breaks_off_is_not_continued_by_another_model(
    server: ModelServer, llm: FallbackLlm
) -> None:
    server.play(Turn(text=["The first ", "half"], ending="cut"), Turn(text=["Never asked."]))
    final = await answer(llm, stream=True)
    assert (texts(final), final.error_code) == (["The first half"], "STREAM_CUT")
    assert len(server.requests) == 1


async def test_m4_the_last_failure_is_raised(server: ModelServer, llm: FallbackLlm) -> None:
    server.play(FAILED, Turn(failure=Failure(http_status=404, message="No such model.")))
    with pytest.raises(ModelError, match="NOT_FOUND: No such model"):
        await ask(llm, question())


async def test_m4_a_refusal_is_an_answer(server: ModelServer, llm: FallbackLlm) -> None:
    server.play(Turn(block_reason="SAFETY"), Turn(text=["Never asked."]))
    assert (await answer(llm)).error_code == "SAFETY"
    assert len(server.requests) == 1


def test_m4_names_become_models_and_an_empty_list_is_refused(second: BaseLlm) -> None:
    llm = FallbackLlm(["gemini-3-pro", second])
    assert isinstance(llm.models[0], Gemini)
    assert llm.model == "gemini-3-pro or claude-test"
    assert llm.capabilities.schema_with_tools
    with pytest.raises(ConfigurationError, match="at least one model"):
        FallbackLlm([])


async def test_m4_gemini_gets_no_signatures_of_claude(
    server: ModelServer, gemini: Gemini, second: BaseLlm
) -> None:
    server.play(Turn(thoughts=["Hm."], text=["Yes."]), Turn(text=["Indeed."]))
    thought = (await answer(second, stream=True)).content
    assert thought is not None
    await answer(gemini, LlmRequest(contents=[user_says("Hi"), thought, user_says("Sure?")]))
    sent = server.requests[1].body["contents"][1]["parts"]
    assert sent == [{"text": "Hm.", "thought": True}, {"text": "Yes."}]

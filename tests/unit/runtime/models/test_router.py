"""`RouterLlm`: a function of the request chooses the model (contract M4)."""

from __future__ import annotations

import pytest

from runtime.errors import ConfigurationError
from runtime.models import BaseLlm, Claude, Gemini, LlmRequest, OpenAICompatible, RouterLlm
from tests.contracts.model_calls import answer, ask, question, texts
from tests.model_server import ModelServer, Turn


def by_length(request: LlmRequest) -> str:
    parts = [part.text or "" for content in request.contents for part in content.parts or []]
    return "long" if len("".join(parts)) > 10 else "short"


@pytest.fixture
def models(server: ModelServer) -> dict[str, BaseLlm | str]:
    return {
        "short": OpenAICompatible(model="gpt-test", api_key="k", base_url=f"{server.url}/v1"),
        "long": Claude(model="claude-test", api_key="k", base_url=server.url),
    }


@pytest.mark.parametrize("stream", [False, True])
async def test_m4_each_request_goes_to_the_model_of_its_key(
    server: ModelServer, models: dict[str, BaseLlm | str], stream: bool
) -> None:
    llm = RouterLlm(by_length, models)
    server.play(Turn(text=["Short", "."]), Turn(text=["Long", "."]))
    request = question("A long question")
    request.model = llm.model
    assert texts(await answer(llm, question("Hi"), stream=stream)) == ["Short."]
    assert texts(await answer(llm, request, stream=stream)) == ["Long."]
    assert [sent.model for sent in server.requests] == ["gpt-test", "claude-test"]
    assert request.model == llm.model


def test_m4_a_router_without_models_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="RouterLlm needs at least one model"):
        RouterLlm(by_length, {})


async def test_m4_an_unknown_key_is_an_error_with_the_keys(models: dict[str, BaseLlm | str]) -> None:
    llm = RouterLlm(lambda request: "cheap", models)
    with pytest.raises(ConfigurationError, match=r"chose 'cheap'\. Choose one of its models: short, long"):
        await ask(llm, question())


def test_m4_a_router_joins_the_names_and_problems_and_can_do_what_all_its_models_can(
    models: dict[str, BaseLlm | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    llm = RouterLlm(by_length, {"new": "gemini-3-pro", **models})
    assert isinstance(llm.models[0], Gemini)
    assert llm.model == "gemini-3-pro or gpt-test or claude-test"
    assert not llm.capabilities.schema_with_tools
    assert ["gemini-3-pro" in problem.problem for problem in llm.setup_problems()] == [True]
    assert "by_length" not in llm.model_dump_json()

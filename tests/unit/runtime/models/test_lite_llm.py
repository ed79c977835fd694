"""`LiteLlm` beside the contract of all models: its arguments, its package, and a protocol that is not OpenAI's (M3)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import litellm
import pytest

from runtime.errors import ConfigurationError, ModelError, how_to_install
from runtime.models import LiteLlm
from tests.contracts.model_calls import answer, ask, parts, question, texts
from tests.model_server import Call, Failure, ModelServer, Turn

pytestmark = pytest.mark.filterwarnings("ignore:Accessing the:DeprecationWarning")

NO_NETWORK = """
import os, socket, sys
def refuse(*_): os._exit(3)
socket.socket.connect = socket.getaddrinfo = refuse
import runtime.models.lite_client
"""


@pytest.fixture
def claude(server: ModelServer) -> LiteLlm:
    return LiteLlm(model="anthropic/claude-test", api_key="test-key", base_url=server.url, timeout=10)


@pytest.mark.parametrize("stream", [False, True])
async def test_m3_another_protocol_than_openais_has_thoughts_text_calls_and_usage(
    server: ModelServer, claude: LiteLlm, stream: bool
) -> None:
    calls = [Call(name="get_weather", args={"city": "Łódź"}, id="c1"), Call(name="get_time", id="c2")]
    server.play(Turn(thoughts=["Two calls."], text=["Wait."], calls=calls))
    final = await answer(claude, stream=stream)
    thought, text, *called = parts(final)
    assert (thought.text, thought.thought, text.text) == ("Two calls.", True, "Wait.")
    assert [(part.function_call.name, part.function_call.args) for part in called if part.function_call] == [
        ("get_weather", {"city": "Łódź"}),
        ("get_time", {}),
    ]
    assert final.error_code is None
    assert final.usage_metadata is not None and final.usage_metadata.total_token_count == 12


@pytest.mark.parametrize("stream", [False, True])
async def test_m3_another_protocols_failure_has_its_code_and_words(
    server: ModelServer, claude: LiteLlm, stream: bool
) -> None:
    server.play(Turn(failure=Failure(http_status=404, message="No such model.")))
    with pytest.raises(ModelError) as caught:
        await ask(claude, question(), stream=stream)
    assert caught.value.code == "NOT_FOUND"
    assert "No such model." in caught.value.detail


async def test_m3_further_arguments_are_sent(server: ModelServer) -> None:
    server.play(Turn(text=["Yes."]))
    llm = LiteLlm(
        model="openai/gpt-test",
        api_base=f"{server.url}/v1",
        api_key="k",
        temperature=0.25,
        extra_headers={"X-Team": "blue"},
    )
    assert texts(await answer(llm)) == ["Yes."]
    assert server.requests[0].body["temperature"] == 0.25
    assert server.requests[0].headers["x-team"] == "blue"
    assert "blue" not in repr(llm) + llm.model_dump_json()
    prepared = await LiteLlm(model="openai/gpt-test", api_key="s3cr3t")._prepare(question())
    assert "s3cr3t" not in repr(prepared)


async def test_m3_more_answers_run_at_once_than_a_client_has_connections_by_default(
    server: ModelServer, claude: LiteLlm
) -> None:
    at_once = 110
    server.play(*[Turn(text=["Yes", "."], hold_before=[1])] * at_once)
    async with asyncio.timeout(60), asyncio.TaskGroup() as answers:
        tasks = [answers.create_task(answer(claude, stream=True)) for _ in range(at_once)]
        for _ in range(at_once):
            await server.next_request()
        for _ in range(at_once):
            server.release()
    assert {texts(task.result())[0] for task in tasks} == {"Yes."}


async def test_m3_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.models.http_llm.find_spec", lambda name: None)
    llm = LiteLlm(model="openai/gpt-test")
    with pytest.raises(ConfigurationError) as caught:
        await ask(llm, question())
    assert str(caught.value) == f"LiteLlm needs the package 'litellm': {how_to_install('litellm')}"
    assert [problem.remedy for problem in llm.setup_problems()] == [how_to_install("litellm")]


def test_m3_the_import_asks_nothing_of_the_network() -> None:
    """LiteLLM fetches lists of prices and headers at its import, if it may."""
    assert subprocess.run([sys.executable, "-c", NO_NETWORK], check=False).returncode == 0


async def test_the_authors_own_client_is_called(server: ModelServer) -> None:
    class Counting:
        calls = 0

        async def acompletion(self, **arguments: Any) -> Any:
            self.calls += 1
            return await litellm.acompletion(**arguments)

    client = Counting()
    llm = LiteLlm("anthropic/claude-test", llm_client=client, api_key="test-key", base_url=server.url)
    for stream in (False, True):
        server.play(Turn(text=["Hi."]))
        assert parts(await answer(llm, stream=stream))[0].text == "Hi."
    assert client.calls == 2

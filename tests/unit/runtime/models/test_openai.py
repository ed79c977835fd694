"""`OpenAICompatible` beyond the contract of models: servers, names, odd chunks (contract M3)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from openai.types.chat import ChatCompletionChunk

from runtime import types
from runtime.errors import ConfigurationError, ModelError, how_to_install
from runtime.models import LLMRegistry, LlmRequest, OpenAICompatible
from runtime.models.openai_client import ChatChunks
from runtime.models.openai_request import as_chat_completion
from tests.contracts.model_calls import answer, ask, parts, question, texts
from tests.model_server import Json, ModelServer, Turn


@pytest.fixture
def llm(server: ModelServer) -> OpenAICompatible:
    return OpenAICompatible(model="gpt-test", api_key="test-key", base_url=f"{server.url}/v1", timeout=10)


@pytest.mark.parametrize(
    "name", ["openai/gpt-5", "openrouter/meta/llama", "ollama/llama3.2", "http://localhost:8000/v1"]
)
def test_m3_names_and_urls_resolve_to_the_class(name: str) -> None:
    model = LLMRegistry.new_llm(name)
    assert isinstance(model, OpenAICompatible)
    assert model.model == name


async def test_m3_a_url_is_enough_the_server_names_its_model(server: ModelServer) -> None:
    server.play(Turn(text=["Hi."]), Turn(text=["Ho."]))
    assert texts(await answer(LLMRegistry.new_llm(f"{server.url}/v1"))) == ["Hi."]
    assert texts(await answer(LLMRegistry.new_llm(f"{server.url}/v1#other"), stream=True)) == ["Ho."]
    assert [request.model for request in server.requests] == ["served-model", "other"]


async def test_m3_a_prefix_is_not_sent_and_openai_gets_its_own_token_limit(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    server.play(Turn(text=["Hi."]))
    config = types.GenerateContentConfig(max_output_tokens=9)
    request = LlmRequest(contents=question().contents, config=config)
    await answer(OpenAICompatible(model="openai/gpt-5"), request)
    sent = server.requests[0]
    assert (sent.model, sent.body["max_completion_tokens"]) == ("gpt-5", 9)
    assert sent.headers["authorization"] == "Bearer from-environment"


async def test_m3_with_a_base_url_the_name_is_sent_as_it_is(
    server: ModelServer, llm: OpenAICompatible
) -> None:
    server.play(Turn(text=["Hi."]))
    await answer(llm, LlmRequest(model="openai/gpt-5", contents=question().contents))
    assert server.requests[0].model == "openai/gpt-5"


async def test_m3_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    llm = OpenAICompatible(model="openai/gpt-5")
    with pytest.raises(ConfigurationError, match=r"'openai/gpt-5' has no API key\. Set OPENAI_API_KEY"):
        await ask(llm, question())
    assert [problem.problem for problem in llm.setup_problems()] == [
        "No API key is set for the model 'openai/gpt-5'"
    ]
    assert OpenAICompatible(model="ollama/llama3.2").setup_problems() == []


async def test_m3_a_missing_package_is_one_sentence(
    llm: OpenAICompatible, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.models.http_llm.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        await ask(llm, question())
    assert str(caught.value) == (f"OpenAICompatible needs the package 'openai': {how_to_install('openai')}")
    assert "is not installed" in llm.setup_problems()[0].problem


def test_m3_the_client_is_not_imported_before_it_is_used() -> None:
    code = (
        "import sys, runtime.models; sys.exit(bool({'openai', 'anthropic', 'litellm'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_m3_a_tool_that_gemini_runs_is_refused_by_name() -> None:
    config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    with pytest.raises(ConfigurationError, match="'gpt-5' cannot run the tool google_search"):
        as_chat_completion(LlmRequest(config=config), "gpt-5", "max_tokens")


def test_m3_a_file_that_the_protocol_lacks_is_refused_by_type() -> None:
    film = types.Part.from_bytes(data=b"film", mime_type="video/mp4")
    request = LlmRequest(contents=[types.Content(role="user", parts=[film])])
    with pytest.raises(ModelError, match="cannot read files of the type 'video/mp4'"):
        as_chat_completion(request, "gpt-5", "max_tokens")


def test_m3_sound_and_documents_are_sent() -> None:
    files = [
        types.Part.from_bytes(data=b"tone", mime_type="audio/wav"),
        types.Part.from_bytes(data=b"page", mime_type="application/pdf"),
        types.Part.from_bytes(data="Größe".encode(), mime_type="text/csv"),
    ]
    request = LlmRequest(contents=[types.Content(role="user", parts=files)])
    sound, page, table = as_chat_completion(request, "gpt-5", "max_tokens")["messages"][0]["content"]
    assert sound["input_audio"] == {"data": "dG9uZQ==", "format": "wav"}
    assert page["file"]["file_data"] == "data:application/pdf;base64,cGFnZQ=="
    assert table == {"type": "text", "text": "Größe"}


def test_m3_repeated_call_ids_are_told_apart() -> None:
    def step(result: int) -> list[types.Content]:
        call = types.FunctionCall(name="f", id="c")
        response = types.FunctionResponse(name="f", id="c", response={"n": result})
        return [
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=response)]),
        ]

    request = LlmRequest(contents=[*step(1), *step(2)])
    _, first, _, second = as_chat_completion(request, "gpt-5", "max_tokens")["messages"]
    assert (first["tool_call_id"], first["content"]) == ("c", '{"n": 1}')
    assert (second["tool_call_id"], second["content"]) == ("call_2", '{"n": 2}')


@pytest.mark.parametrize("mode", ["ANY", "NONE"])
def test_m3_the_choice_of_functions_is_sent(mode: str) -> None:
    calling = types.FunctionCallingConfig(
        mode=types.FunctionCallingConfigMode(mode), allowed_function_names=["f"]
    )
    declarations = [types.FunctionDeclaration(name=name) for name in ("f", "g")]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declarations)],
        tool_config=types.ToolConfig(function_calling_config=calling),
    )
    sent = as_chat_completion(LlmRequest(config=config), "gpt-5", "max_tokens")
    assert sent["tool_choice"] == {"ANY": "required", "NONE": "none"}[mode]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["f"]


def chunk(delta: Json, finish_reason: str | None = None) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return ChatCompletionChunk.model_validate({**head, "choices": [choice]})


def call(call_id: str, arguments: str) -> Json:
    function = {"name": "f", "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}


def test_m3_calls_with_one_index_are_told_apart_by_their_ids() -> None:
    """Some servers send each call whole, and all of them with the index 0."""
    chunks = ChatChunks()
    assert chunks.convert(chunk(call("a", '{"n": 1}'))) is None
    assert chunks.convert(chunk(call("b", '{"n": 2}'))) is None
    last = chunks.convert(chunk({}, "tool_calls"))
    assert last is not None and last.function_calls is not None
    assert [(found.id, found.args) for found in last.function_calls] == [("a", {"n": 1}), ("b", {"n": 2})]


def test_m3_pieces_of_a_call_join_the_latest_call_with_their_index() -> None:
    chunks = ChatChunks()
    for piece in (call("a", '{"n": 1}'), call("b", '{"n": '), call("", "2}")):
        chunks.convert(chunk(piece))
    last = chunks.convert(chunk({}, "tool_calls"))
    assert last is not None and last.function_calls is not None
    assert [(found.id, found.args) for found in last.function_calls] == [("a", {"n": 1}), ("b", {"n": 2})]


@pytest.mark.parametrize(
    ("arguments", "finish_reason", "expected"),
    [
        ('{"n": ', "tool_calls", "MALFORMED_FUNCTION_CALL"),
        ('{"n": ' + "[" * 50_000, "tool_calls", "MALFORMED_FUNCTION_CALL"),
        ('{"n": ', "length", "MAX_TOKENS"),
        ("", "length", "MAX_TOKENS"),  # without arguments the call would be complete
    ],
)
async def test_e7_calls_with_arguments_that_break_off_are_left_out(
    arguments: str, finish_reason: str, expected: str
) -> None:
    chunks = ChatChunks()
    chunks.convert(chunk(call("a", arguments)))
    last = chunks.convert(chunk({}, finish_reason))
    assert last is not None and last.candidates is not None
    assert last.candidates[0].content is None
    assert last.candidates[0].finish_reason is types.FinishReason(expected)


async def test_m3_reasoning_tokens_count_as_thoughts(server: ModelServer, llm: OpenAICompatible) -> None:
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "thoughtsTokenCount": 4, "totalTokenCount": 16}
    server.play(Turn(text=["Four."], usage=usage))
    response = await answer(llm, stream=True)
    used = response.usage_metadata
    assert used is not None
    assert (used.candidates_token_count, used.thoughts_token_count, used.total_token_count) == (5, 4, 16)
    assert parts(response)[0].text == "Four."

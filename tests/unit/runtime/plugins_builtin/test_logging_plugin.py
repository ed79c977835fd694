"""LoggingPlugin: readable log lines, with secrets masked and long values truncated (contract C4)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import ModelError
from runtime.plugins import LoggingPlugin
from runtime.plugins.logging_plugin import format_content, format_value, shorten
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation


def sign_in(name: str, password: str) -> dict[str, Any]:
    """Sign in."""
    if password == "wrong":
        raise PermissionError("Go away.")
    return {"ok": True, "access_token": "t0ps3cret"}


def talk(*turns: object) -> Conversation:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=[sign_in])
    return Conversation(agent, plugins=[LoggingPlugin()])


async def test_each_hook_logs_one_line_that_begins_with_the_invocation_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="runtime.plugins.logging_plugin")
    events = await talk(call("sign_in", name="ada", password="s3cret"), "Hello.").say("Hi")
    lines = [line.removeprefix(f"[{events[0].invocation_id}] ") for line in caplog.messages]
    starts = [
        "user ada in session",
        "run starts with agent clerk",
        "agent clerk starts",
        "agent clerk asks model scripted: 1 contents, tools sign_in, latest: text: Hi",
        'model answers agent clerk: call sign_in{"name": "ada", "password": "***"}',
        "event by clerk, id ",
        "tool sign_in starts, call adk-",
        "tool sign_in ends, call adk-",
        "event by clerk, id ",
        "agent clerk asks model scripted: 3 contents",
        "model answers agent clerk: text: Hello.",
        "event by clerk, final, id ",
        "agent clerk ends",
        "run ends",
    ]
    assert len(lines) == len(starts)
    assert [line for line, start in zip(lines, starts, strict=True) if not line.startswith(start)] == []
    assert "s3cret" not in caplog.text
    assert "t0ps3cret" not in caplog.text


async def test_failures_are_logged_as_errors_and_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(PermissionError):
        await talk(call("sign_in", name="ada", password="wrong")).say("Hi")
    [event] = await talk(ModelError("RESOURCE_EXHAUSTED", "Slow down.")).say("Hi")
    assert event.error_code == "RESOURCE_EXHAUSTED"
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert "tool sign_in fails, call" in errors[0] and errors[0].endswith("PermissionError: Go away.")
    assert "model scripted fails for agent clerk: ModelError: RESOURCE_EXHAUSTED" in errors[1]
    assert "model answers agent clerk with RESOURCE_EXHAUSTED" in errors[2]


async def test_partial_responses_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="runtime.plugins.logging_plugin")
    await talk("one two three").say("Hi", RunConfig(streaming_mode=StreamingMode.SSE))
    assert len([line for line in caplog.messages if "text: one" in line]) == 2


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"api_key": "x", "apiKey": "x", "Authorization": "x", "client_secret": {"a": 1}},
         '{"api_key": "***", "apiKey": "***", "Authorization": "***", "client_secret": "***"}'),
        ({"token_count": 7, "a": [{"password": "x"}]}, '{"token_count": 7, "a": [{"password": "***"}]}'),
        ("sent Bearer abc.def and more", '"sent Bearer *** and more"'),
        ("a\n  b", '"a b"'),
        (b"1234", '"<4 bytes>"'),
        ([1, None, True, 0.5, "ä"], '[1, null, true, 0.5, "ä"]'),
        (list(range(22)), f"[{', '.join(map(str, range(20)))}, \"… 2 more\"]"),
        (ValueError("odd"), '"odd"'),
    ],
)  # fmt: skip
def test_values_are_formatted_with_secrets_masked_and_long_values_truncated(value: object, line: str) -> None:
    assert format_value(value) == line


def test_long_texts_deep_values_and_wide_dicts_are_truncated() -> None:
    assert shorten("x" * 1000) == f"{'x' * 200}… (1000 characters)"
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"in": deep}
    assert format_value(deep).endswith('"{…}"' + "}" * 6)
    assert '"…": "80 more"' in format_value({str(index): index for index in range(100)})


def test_contents_are_formatted_part_by_part() -> None:
    parts = [
        types.Part(text="hm", thought=True),
        types.Part(inline_data=types.Blob(data=b"123", mime_type="image/png")),
        types.Part(file_data=types.FileData(file_uri="gs://a/b")),
        types.Part(executable_code=types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)),
        types.Part(code_execution_result=types.CodeExecutionResult(output="1")),
    ]
    assert format_content(types.Content(parts=parts)) == (
        "thought: hm | file image/png, 3 bytes | file gs://a/b | code: print(1) | code result: 1"
    )
    assert format_content(None) == "nothing"

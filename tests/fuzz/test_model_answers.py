"""Contract M2, E7: a hostile or broken model server gets no call run twice, and always an answer or an error event."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import BaseLlm, Claude, Gemini, LiteLlm, OpenAICompatible
from runtime.run_config import RunConfig, StreamingMode
from tests.fuzz.conftest import Errors
from tests.unit.runtime.conversation import Conversation

ONCE = types.HttpRetryOptions(attempts=1)
SEEDS = 100
"""Other ones for each client: two clients share a protocol."""
WRONG: list[Any] = [None, "", "x", 0, -1, 1.5, True, [], {}, [None], {"a": None}]

GEMINI: list[dict[str, Any]] = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "I pay."}]}}], "usageMetadata": {"totalTokenCount": 3}},
    {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"id": "c1", "name": "pay", "args": {"n": 1}}}]}}
        ]
    },
    {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 5}},
]
CHAT: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "I pay."}, "finish_reason": None}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "pay", "arguments": '{"n":'},
                        }
                    ]
                },
            }
        ]
    },
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
]
CLAUDE: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I pay."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "pay", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"n": 1}'},
    },
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
WHOLE: dict[str, dict[str, Any]] = {
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"text": "I pay."},
                        {"functionCall": {"id": "c1", "name": "pay", "args": {"n": 1}}},
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 3},
    },
    "chat": {
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "I pay.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "pay", "arguments": '{"n": 1}'},
                        }
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    },
    "claude": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "text", "text": "I pay."},
            {"type": "tool_use", "id": "c1", "name": "pay", "input": {"n": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
}
DONE: dict[str, dict[str, Any]] = {
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP"}]},
    "chat": {"choices": [{"index": 0, "message": {"content": "Done."}, "finish_reason": "stop"}]},
    "claude": {
        **WHOLE["claude"],
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
    },
}
MODELS: dict[str, tuple[str, Callable[[str], BaseLlm]]] = {
    "gemini": ("gemini", lambda url: Gemini(model="gemini-x", api_key="k", base_url=url, retry_options=ONCE)),
    "chat": (
        "chat",
        lambda url: OpenAICompatible(model="m", api_key="k", base_url=f"{url}/v1", retry_options=ONCE),
    ),
    "claude": ("claude", lambda url: Claude(model="claude-x", api_key="k", base_url=url, retry_options=ONCE)),
    "litellm chat": (
        "chat",
        lambda url: LiteLlm(model="openai/m", api_key="k", base_url=f"{url}/v1", retry_options=ONCE),
    ),
    "litellm claude": (
        "claude",
        lambda url: LiteLlm(model="anthropic/claude-x", api_key="k", base_url=url, retry_options=ONCE),
    ),
}
PIECES = {"gemini": GEMINI, "chat": CHAT, "claude": CLAUDE}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within a value."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths_of(item, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += paths_of(item, (*path, index))
    return found


def broken(pieces: list[dict[str, Any]], chance: random.Random) -> tuple[list[Any], bool]:
    """Return the pieces of an answer, changed once to three times, and True if the body is cut."""
    changed = copy.deepcopy(pieces)
    is_cut = False
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(len(changed))
        match chance.choice(["double", "swap", "drop", "cut", "value", "value", "value"]):
            case "double":
                changed.insert(position, copy.deepcopy(changed[position]))
            case "swap":
                changed.insert(chance.randrange(len(changed)), changed.pop(position))
            case "drop" if len(changed) > 1:
                changed.pop(position)
            case "cut":
                is_cut = True
            case _:
                paths = paths_of(changed[position])
                if paths:
                    *parents, last = chance.choice(paths)
                    target = changed[position]
                    for key in parents:
                        target = target[key]
                    target[last] = copy.deepcopy(chance.choice(WRONG))
    return changed, is_cut


class Server:
    """HTTP server that answers the first request of a turn with a given body, and all others with "Done."."""

    def __init__(self, protocol: str, *, streamed: bool) -> None:
        if streamed:
            self._kind = "text/event-stream"
            self._done = as_stream(protocol, done(protocol))
        else:
            self._kind = "application/json"
            self._done = json.dumps(DONE[protocol]).encode()
        self.first: bytes | None = None

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split("\r\n")[0])
        await reader.readexactly(length)
        body = self.first if self.first is not None else self._done
        self.first = None
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {self._kind}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


def as_stream(protocol: str, pieces: list[Any]) -> bytes:
    lines = []
    for piece in pieces:
        if protocol == "claude" and isinstance(piece, dict):
            lines.append(f"event: {piece.get('type')}\n")
        lines.append(f"data: {json.dumps(piece)}\n\n")
    if protocol == "chat":
        lines.append("data: [DONE]\n\n")
    return "".join(lines).encode()


def done(protocol: str) -> list[dict[str, Any]]:
    match protocol:
        case "gemini":
            return [{"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}]
        case "chat":
            return [{"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    return [*CLAUDE[:4], end, CLAUDE[-1]]


@pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning", "ignore:Accessing the:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("kind", MODELS)
async def test_a_broken_answer_is_an_answer_or_an_error_and_runs_no_call_twice(
    errors: Errors, kind: str, streamed: bool
) -> None:
    errors.expected = ("LiteLLM",)
    protocol, make = MODELS[kind]
    pieces = PIECES[protocol] if streamed else [WHOLE[protocol]]
    mode = StreamingMode.SSE if streamed else StreamingMode.NONE
    async with Server(protocol, streamed=streamed) as server:
        model = make(server.url)
        for seed in range(SEEDS):
            chance = random.Random(f"{kind} {seed}")
            changed, is_cut = broken(pieces, chance)
            body = as_stream(protocol, changed) if streamed else json.dumps(changed[0]).encode()
            server.first = body[: chance.randrange(len(body))] if is_cut else body
            runs = []

            def pay(n: int = 0) -> str:
                """Pay."""
                runs.append(n)  # noqa: B023
                return "paid"

            conversation = Conversation(LlmAgent(name="clerk", model=model, tools=[pay]))
            # An exception, in place of an error event of the model, fails the test.
            talk = conversation.say("Pay.", RunConfig(streaming_mode=mode))
            events = await asyncio.wait_for(talk, 120)
            last = events[-1]
            assert last.text().strip() or last.error_code, f"seed {seed}: {changed}"
            calls = sum(json.dumps(piece).count('"c1"') for piece in changed)
            assert len(runs) <= max(calls, 1), f"seed {seed}: {changed}"

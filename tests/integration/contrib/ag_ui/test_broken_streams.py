"""Contract: a client that connects again with its last id loses and doubles nothing, wherever the stream broke."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime import types
from runtime.models import LlmResponse
from runtime.tools import FunctionTool, ToolContext
from sessions_app.contrib.ag_ui.place import Place
from sessions_app.models import Invocation
from tests.fakes import ScriptedModel, StreamingModel, call, text_content
from tests.integration.contrib.ag_ui.conftest import APP, events_in, http_client, run_input
from tests.integration.contrib.ag_ui.strict_client import StrictClient

WORDS = "Guten Tag, es sind 3 € 😀 offen."


def count(euros: int, tool_context: ToolContext) -> str:
    """Count the euros."""
    tool_context.state["euros/all"] = euros
    tool_context.state["app:secret"] = "hidden"
    return f"{euros} counted"


@pytest.fixture
def tools() -> list[Any]:
    return [FunctionTool(count)]


async def answer_to(site: str, key: str, body: dict[str, Any], last_id: str = "") -> list[Any]:
    headers = {"last-event-id": last_id} if last_id else {}
    async with http_client(site, key) as client:
        response = await client.post(f"/ag-ui/{APP}", json=body, headers=headers)
    assert response.status_code == 200, response.text
    return events_in(response.text)


def read(events: list[Any]) -> StrictClient:
    return StrictClient().read([event for _, event in events])


async def test_every_place_of_a_run_continues_it(site: str, key: str, model: ScriptedModel) -> None:
    thought = types.Part(text="Let me count.", thought=True)
    model.turns += [[thought, call("count", euros=3)], WORDS]
    body = run_input("Count", state={"mine": 1})
    streamed = await answer_to(site, key, body)
    whole = read(streamed)
    assert [role for role, _ in whole.texts] == ["user", "reasoning", "call", "tool", "assistant"]
    assert whole.texts[-1] == ("assistant", WORDS)
    assert whole.state["mine"] == 1 and "app:secret" not in whole.state
    assert read(await answer_to(site, key, body)) == whole
    for number, (place, _) in enumerate(streamed, start=1):
        rest = await answer_to(site, key, body, place)
        assert read(streamed[:number] + rest) == whole, f"after {place}"
    assert await Invocation.objects.acount() == 1


class GatedModel(StreamingModel):
    """Model that streams a word for each permit, and may replace its text."""

    model: str = "gated"
    permits: Any = None
    final: str = ""

    async def words(self) -> AsyncGenerator[str, None]:
        for word in WORDS.split(" "):
            await self.permits.acquire()
            yield f"{word} "

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(llm_request, stream):
            is_last = not response.partial
            yield LlmResponse(content=text_content(self.final)) if is_last and self.final else response


@pytest.mark.parametrize("final", ["", "Something else."])
async def test_a_growing_text_continues_where_it_broke(
    site: str, key: str, model: GatedModel, final: str
) -> None:
    model.final = final
    body = run_input("Say it")
    had: list[Any] = []
    last_id = ""
    for _ in WORDS.split(" "):
        model.permits.release()
        async with http_client(site, key) as client:
            headers = {"last-event-id": last_id} if last_id else {}
            async with client.stream("POST", f"/ag-ui/{APP}", json=body, headers=headers) as response:
                async for text in frames(response):
                    had += events_in(text)
                    last_id = had[-1][0]
                    if had[-1][1]["type"] == "TEXT_MESSAGE_CONTENT":
                        break
    had += await answer_to(site, key, body, last_id)
    assert read(had).texts == [("user", "Say it"), ("assistant", final or f"{WORDS} ")]
    assert await Invocation.objects.acount() == 1


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    if "final" in request.fixturenames:
        return GatedModel(permits=asyncio.Semaphore(0))
    return ScriptedModel()


async def frames(response: Any) -> AsyncGenerator[str, None]:
    """Yield complete frames."""
    unread = ""
    async for text in response.aiter_text():
        unread += text
        while "\n\n" in unread:
            frame, _, unread = unread.partition("\n\n")
            if not frame.startswith(":"):
                yield frame + "\n\n"


@pytest.mark.parametrize(
    "text", ["", "x", "1", "1.2.3", "1.1~", "1.1~a.t.1.1", "9" * 5000, "1.0~!~e.q.1.1.1"]
)
def test_other_ids_are_no_places(text: str) -> None:
    assert Place.parse(text) is None


@pytest.mark.parametrize("text", ["3.0", "0.2~^", "5.1~!", "5.0~end", "7.2~e-1.t.3.99.4~e-1.r.0.0.4"])
def test_a_place_is_read_as_it_was_written(text: str) -> None:
    assert str(Place.parse(text)) == text

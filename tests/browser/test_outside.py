"""Contract: conversations with an outside model, MCP server and OpenAPI service survive the kill of a web process.

The answer that was streaming is completed, the approval is still asked for, and the job is answered once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, StorageState, expect

from sessions_app.rendering.outline import as_words
from tests.browser.chat_page import RESUMED, ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.browser.outside.service import HELD, ORDERS, Service
from tests.model_server import Call, Turn
from tests.stack.outages import Web

pytestmark = [pytest.mark.browser, pytest.mark.stack]

MILLISECONDS = 90_000
ATTEMPTS = 10
"""More than an answer needs, also on a busy machine, where a lease may expire."""
Calls = tuple[Call, Call]


@pytest.fixture
def chat(
    browser: Browser, web: Web, service: Service, signed_in: Callable[[str], StorageState]
) -> Iterator[ChatPage]:
    """A tab with a new chat with the agent `outside`."""
    service.begin()
    # The page waits most of the time: its moving signs would take more CPU time than all else in the browser.
    window = browser.new_context(storage_state=signed_in(PERSON), reduced_motion="reduce")
    tab = ChatPage(window.new_page(), web.base_url)
    tab.open_new_chat("outside")
    yield tab
    service.released.set()
    window.close()


def calls_of(kind: str, url: str) -> Calls:
    """Return the call of a job, and a call that needs an approval."""
    return {
        "model": (Call(name="count_stock"), Call(name="refund", args={"amount": 20})),
        "mcp": (
            Call(name="mcp_fetch", args={"url": url + HELD}),
            Call(name="mcp_send", args={"url": url + ORDERS}),
        ),
        "openapi": (Call(name="api_count_orders"), Call(name="api_place_order", args={"pieces": 3})),
    }[kind]


@pytest.mark.parametrize("kind", ["model", "mcp", "openapi"])
def test_answer_approval_and_job_survive_the_kill_of_the_web_process(
    kind: str, chat: ChatPage, web: Web, model: Model, service: Service
) -> None:
    job, approval = calls_of(kind, service.url)
    model.play(
        rules={
            "Count, and order": Turn(calls=[approval, job]),
            "How long": Turn(text=["It takes ", "two days."], hold_before=[1]),
            "queued": Turn(text=["It is ", "ordered."]),
            "42": Turn(text=["There are ", "42."]),
        }
    )
    chat.send("Count, and order")
    question = chat.log.get_by_role("region", name=f"Approval: {as_words(approval.name)}")
    expect(question.get_by_role("button", name="Approve")).to_be_visible(timeout=MILLISECONDS)
    assert service.arrived.wait(MILLISECONDS / 1000)  # the job has begun
    chat.send("How long does it take?")
    expect(chat.growing).to_have_text("It takes")

    web.kill()
    expect(chat.status).to_have_text("Reconnecting…")
    web.start()
    for _ in range(ATTEMPTS):
        model.release()
    expect(chat.answers).to_have_text(["It takes two days."], timeout=MILLISECONDS)
    expect(chat.marks).to_have_text([RESUMED])
    assert service.count(ORDERS) == 0

    question.get_by_role("button", name="Approve").click()
    expect(chat.answers).to_have_text(["It takes two days.", "It is ordered."], timeout=MILLISECONDS)
    service.released.set()
    answers = ["It takes two days.", "It is ordered.", "There are 42."]
    expect(chat.answers).to_have_text(answers, timeout=MILLISECONDS)
    chat.wait_until_idle()
    chat.reload()
    expect(chat.answers).to_have_text(answers)
    expect(chat.tool(job.name)).to_have_attribute("data-state", "ok")
    expect(chat.tool(approval.name)).to_have_attribute("data-state", "ok")
    assert service.count(ORDERS) == 1

"""Contract: no state lives in one process only, so any web process can serve any session.

The processes are those of `deploy/run`: two web processes, a worker for each queue and a beat.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.fleet import Fleet
from tests.stack.websocket_tab import Tab

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="module")
def fleet(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    environment = {**model.environment, "DJANGO_SETTINGS_MODULE": "tests.stack.settings"}
    with Fleet(tmp_path_factory.mktemp("fleet"), environment) as running:
        running.start("web1", "web2", "worker1", "jobs1", "beat")
        yield running


@pytest.fixture
async def tabs(fleet: Fleet) -> AsyncIterator[tuple[Tab, Tab]]:
    """Two tabs of one session, connected to different web processes."""
    session, cookies = fleet.new_chat("web1")
    pair = Tab(session, cookies), Tab(session, cookies)
    for tab, web in zip(pair, ("web1", "web2"), strict=True):
        await tab.open(fleet.url(web))
        await tab.read_until(lambda tab: True)
    yield pair
    for tab in pair:
        await tab.close()


async def test_two_tabs_at_different_processes_see_the_same_words_and_one_reconnects_elsewhere(
    fleet: Fleet, model: Model, tabs: tuple[Tab, Tab]
) -> None:
    here, there = tabs
    model.play(Turn(text=["It ", "takes ", "two ", "days."], hold_before=[1, 3]))
    await here.send(type="message", id="m1", text="How long does it take?")
    for tab in tabs:
        await tab.read_until(lambda tab: tab.growing_text == "It ")
    model.release()
    for tab in tabs:
        await tab.read_until(lambda tab: tab.growing_text == "It takes two ")
    fleet.kill("web2")
    await there.open(fleet.url("web1"))
    await there.read_until(lambda tab: tab.growing_text == "It takes two ")
    model.release()
    for tab in tabs:
        await tab.read_until(lambda tab: len(tab.log) == 2)
    fleet.start("web2")
    assert here.texts == there.texts == ["How long does it take?", "It takes two days."]
    assert here.log == there.log


async def test_a_worker_resumes_the_answer_of_a_killed_web_process(
    fleet: Fleet, model: Model, tabs: tuple[Tab, Tab]
) -> None:
    here, there = tabs
    model.play(Turn(text=["It ", "takes"], hold_before=[1]), Turn(text=["It ", "takes ", "two days."]))
    await here.send(type="message", id="m1", text="How long does it take?")
    for tab in tabs:
        await tab.read_until(lambda tab: tab.growing_text == "It ")
    fleet.kill("web1")
    await here.open(fleet.url("web2"))
    for tab in tabs:
        await tab.read_until(lambda tab: "It takes two days." in tab.texts)
    fleet.start("web1")
    assert here.log == there.log
    assert here.texts.count("How long does it take?") == 1


async def test_processes_hand_over_their_invocations_on_sigterm(
    fleet: Fleet, model: Model, tabs: tuple[Tab, Tab]
) -> None:
    here, there = tabs
    held = Turn(text=["It ", "takes"], hold_before=[1])
    model.play(held, held, Turn(text=["It takes two days."]))
    await here.send(type="message", id="m1", text="How long does it take?")
    await there.read_until(lambda tab: tab.growing_text == "It ")
    assert fleet.stop("web1") == 0
    await there.read_until(lambda tab: tab.statuses[-1:] == ["running"] and "queued" in tab.statuses)
    await there.read_until(lambda tab: tab.growing_text == "It ")
    there.statuses.clear()
    fleet.stop("worker1")
    await there.read_until(lambda tab: tab.statuses[-1:] == ["queued"])
    fleet.start("worker1", "web1")
    await there.read_until(lambda tab: "It takes two days." in tab.texts)


def test_a_web_process_answers_health_checks(fleet: Fleet) -> None:
    """The check accepts any host name and plain HTTP, because containers and proxies use IP addresses."""
    answer = httpx.get(f"{fleet.url('web1')}/healthz", headers={"Host": "10.0.0.7"})
    assert (answer.status_code, answer.text) == (200, "ok\n")

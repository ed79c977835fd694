"""Contract: no state lives in one process only: any web process serves any session, and a killed one loses nothing.

The processes are those of `deploy/run`: two web processes, a worker for each queue and a beat. They are forks;
`test_start_stop.py` has `deploy/run` start each kind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from adk_site.embedded.postgres import postgres_url
from tests.ag_ui_page import page_of, write_durable
from tests.browser.model import Model
from tests.free_port import free_port
from tests.integration.contrib.mcp.clients import HANDLE_ONLY, Task, Tasks, client_with_key, until
from tests.model_server import Call, Turn
from tests.stack.crowd import most_connections, talk_while_a_process_stops
from tests.stack.fleet import Fleet
from tests.stack.receiver import SECONDS, Receiver
from tests.stack.settings import CONNECTIONS
from tests.stack.websocket_tab import Tab

pytestmark = pytest.mark.stack

METRICS_PORT = free_port()
END_CLAIMS = "UPDATE sessions_app_webhookdelivery SET next_at = now() WHERE next_at IS NOT NULL"


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="module")
def fleet(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    environment = {**model.environment, "DJANGO_SETTINGS_MODULE": "tests.stack.settings"}
    counts = tmp_path_factory.mktemp("counts")
    with Fleet(tmp_path_factory.mktemp("fleet"), environment, forked=True) as running:
        running.variables["worker"] = {
            "METRICS_PORT": str(METRICS_PORT),
            "PROMETHEUS_MULTIPROC_DIR": str(counts),
        }
        running.start("web1", "web2", "worker1", "jobs1", "beat")
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
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


async def test_a_page_with_ag_ui_follows_the_answer_of_a_killed_web_process(
    fleet: Fleet, model: Model, tmp_path: Path
) -> None:
    """The killed process has streamed a text that is never stored: the client withdraws it."""
    key = make_key(fleet)
    sites = [fleet.url("web1"), fleet.url("web2")]
    async with page_of(write_durable(tmp_path), f"{sites[0]}/ag-ui/help_desk", key) as page:
        model.play(Turn(text=["It ", "takes"], hold_before=[1]), Turn(text=["It ", "takes ", "two days."]))
        await page.send("How long does it take?", sites=sites, echo=True)
        await page.event("TEXT_MESSAGE_CONTENT")
        fleet.kill("web1")
        ended = await page.result()
        fleet.start("web1")
        assert ended["error"] is None and ended["requests"] > 1
        assert [(message["role"], message["content"]) for message in ended["messages"]] == [
            ("user", "How long does it take?"),
            ("assistant", "It takes two days."),
        ]


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


def test_a_worker_tells_prometheus_when_it_has_swept(fleet: Fleet) -> None:
    deadline = time.monotonic() + SECONDS
    while "\nadk_last_sweep_timestamp_seconds " not in httpx.get(f"http://127.0.0.1:{METRICS_PORT}").text:
        assert time.monotonic() < deadline, fleet.log("worker1")
        time.sleep(0.2)


def test_without_trusted_proxies_a_client_chooses_neither_its_address_nor_its_scheme(fleet: Fleet) -> None:
    url = fleet.url("web1")
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Port": "5", "X-Forwarded-Proto": "https"}
    with httpx.Client(base_url=url, headers=forged) as client:
        client.get("/accounts/login/")
        form = {"username": "demo", "password": "no", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        # Over HTTPS Django would refuse this origin.
        answer = client.post("/accounts/login/", data=form, headers={"Origin": url})
    assert answer.status_code == 200
    with psycopg.connect(postgres_url(fleet.data)) as connection:
        addresses = connection.execute("SELECT ip_address FROM axes_accessattempt").fetchall()
    assert [str(address) for (address,) in addresses] == ["127.0.0.1"]


async def test_no_process_has_more_connections_than_it_says(fleet: Fleet, model: Model) -> None:
    """A new process has none, and a page that reads no row opens none."""
    fleet.stop("web2")
    fleet.start("web2")
    query = "SELECT application_name FROM pg_stat_activity WHERE backend_type = 'client backend'"
    with most_connections(postgres_url(fleet.data), query) as most:
        async with httpx.AsyncClient(base_url=fleet.url("web2")) as client:
            pages = [
                "/accounts/login/",
                "/static/sessions_app/css/base.css",
                "/chat/",
                "/jsi18n/",
                "/nothing",
            ]
            answers = [await client.get(page) for page in pages]
        assert {answer.status_code for answer in answers} <= {200, 302, 404}
        assert most["web2"] == 0, answers
        await talk_while_a_process_stops(fleet, model)
        fleet.start("web1")
    pool, pages_and_threads = CONNECTIONS["pool_size"], CONNECTIONS["page_connections"]
    assert pool < most["web1"] <= pool + pages_and_threads
    assert 0 < most["web2"] <= pool + pages_and_threads
    # Two for the Celery task and its progress.
    assert pool <= most["worker1"] <= pool + CONNECTIONS["database_threads"] + 2
    assert most["beat"] == 0


def make_key(fleet: Fleet) -> str:
    """Make a key with all scopes of the person; return it."""
    with program(fleet) as client:
        made = client.post("/api/v1/keys", json={"name": "page", "scopes": ["read", "run", "answer"]})
        assert made.status_code == 201, made.text
        return str(made.json()["key"])


def program(fleet: Fleet) -> httpx.Client:
    """Return a client of the API, signed in at the first web process."""
    _, cookies = fleet.new_chat("web1")
    token = dict(pair.split("=", 1) for pair in cookies.split("; "))["csrftoken"]
    headers = {"cookie": cookies, "x-csrftoken": token, "referer": fleet.url("web1")}
    return httpx.Client(base_url=fleet.url("web1"), headers=headers, timeout=SECONDS)


async def test_the_task_of_an_mcp_client_outlives_the_client_and_its_process(
    fleet: Fleet, model: Model
) -> None:
    """The process that took the call dies in the middle of the answer; another gives the result for the handle."""
    with program(fleet) as client:
        key = client.post("/api/v1/keys", json={"name": "mcp", "scopes": ["run", "read"]}).json()["key"]
    model.play(Turn(text=["It ", "takes"], hold_before=[1]), Turn(text=["It ", "takes ", "two days."]))
    async with client_with_key(f"{fleet.url('web1')}/mcp", key, extensions=[Tasks()]) as caller:
        said = {"message": "How long does it take?"}
        task = await caller.session.call_tool("help_desk", said, allow_claimed=True)
        assert isinstance(task, Task)
        await asyncio.to_thread(model.wait_until_asked, "How long")
    fleet.kill("web1")
    async with client_with_key(f"{fleet.url('web2')}/mcp", key, extensions=[HANDLE_ONLY]) as later:
        got = await until(later.session, task.task_id, "completed")
    assert got["result"]["content"][0]["text"] == "It takes two days."
    fleet.start("web1")


async def test_the_task_of_an_mcp_client_outlives_a_restart_of_the_site(fleet: Fleet, model: Model) -> None:
    """All processes die while the task waits for its job; a process that knows nothing of the call has the result."""
    with program(fleet) as client:
        key = client.post("/api/v1/keys", json={"name": "mcp", "scopes": ["run", "read"]}).json()["key"]
    answers = {"queued": Turn(text=["Soon."]), "summary": Turn(text=["The report is ready."])}
    model.play(rules={"Report": Turn(calls=[Call(name="write_report", args={})]), **answers})
    fleet.kill("jobs1")
    async with client_with_key(f"{fleet.url('web1')}/mcp", key, extensions=[Tasks()]) as caller:
        task = await caller.session.call_tool("help_desk", {"message": "Report"}, allow_claimed=True)
        assert isinstance(task, Task)
        await asyncio.to_thread(model.wait_until_asked, "queued")
    others = ("web1", "web2", "worker1", "beat")
    for name in others:
        fleet.kill(name)
    fleet.start("jobs1", *others)
    async with client_with_key(f"{fleet.url('web2')}/mcp", key, extensions=[HANDLE_ONLY]) as later:
        got = await until(later.session, task.task_id, "completed")
    texts = [block["text"] for block in got["result"]["content"] if block["type"] == "text"]
    assert texts[:-1] == ["Soon.", "The report is ready."]


def stage_delivery(fleet: Fleet, url: str) -> str:
    """Make a webhook and ask for a test delivery; return its id."""
    with program(fleet) as client:
        made = client.post("/api/v1/webhooks", json={"url": url, "events": ["run.ended"]})
        assert made.status_code == 201, made.text
        return str(client.post(f"/api/v1/webhooks/{made.json()['id']}/test").json()["message_id"])


def test_a_killed_worker_loses_no_delivery(fleet: Fleet, receiver: Receiver) -> None:
    """The delivery is made again, with the same id."""
    message_id = stage_delivery(fleet, receiver.url)
    assert receiver.ids.get(timeout=SECONDS) == message_id
    fleet.kill("worker1")
    receiver.answer_from_now_on()
    fleet.start("worker1")
    with psycopg.connect(postgres_url(fleet.data), autocommit=True) as connection:
        connection.execute(END_CLAIMS)  # what a minute does
        assert receiver.ids.get(timeout=SECONDS) == message_id

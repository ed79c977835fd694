"""Contract: the delivery of a worker that is killed in the middle of it is made again, with the same id."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import psycopg
import pytest

from adk_site.embedded.postgres import postgres_url
from tests.stack.fleet import Fleet

pytestmark = pytest.mark.stack
SECONDS = 60.0
END_CLAIMS = "UPDATE sessions_app_webhookdelivery SET next_at = now() WHERE next_at IS NOT NULL"


class Receiver:
    """A server that holds its first request without an answer, and takes all others. A context manager."""

    def __init__(self) -> None:
        self.ids: queue.Queue[str] = queue.Queue()
        self._is_dead = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                is_first = not receiver._is_dead.is_set()
                receiver.ids.put(self.headers["webhook-id"])
                if is_first:
                    receiver._is_dead.wait(SECONDS)
                    return
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._server.server_port}/hook"

    def let_go(self) -> None:
        """Give up the first request."""
        self._is_dead.set()

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with Fleet(tmp_path_factory.mktemp("deliveries"), {"ADK_MODEL": "demo"}) as running:
        running.start("web1", "worker1", "beat")
        yield running


def stage_delivery(fleet: Fleet, url: str) -> str:
    """Make a webhook and ask for a test delivery; return its id."""
    _, cookies = fleet.new_chat("web1")
    token = dict(pair.split("=", 1) for pair in cookies.split("; "))["csrftoken"]
    headers = {"cookie": cookies, "x-csrftoken": token, "referer": fleet.url("web1")}
    with httpx.Client(base_url=fleet.url("web1"), headers=headers, timeout=SECONDS) as client:
        made = client.post("/api/v1/webhooks", json={"url": url, "events": ["run.ended"]})
        assert made.status_code == 201, made.text
        return str(client.post(f"/api/v1/webhooks/{made.json()['id']}/test").json()["message_id"])


def test_a_killed_worker_loses_no_delivery(fleet: Fleet, receiver: Receiver) -> None:
    message_id = stage_delivery(fleet, receiver.url)
    assert receiver.ids.get(timeout=SECONDS) == message_id
    fleet.kill("worker1")
    receiver.let_go()
    fleet.start("worker1")
    with psycopg.connect(postgres_url(fleet.data), autocommit=True) as connection:
        connection.execute(END_CLAIMS)  # what a minute does
        assert receiver.ids.get(timeout=SECONDS) == message_id

"""A local HTTP server that records requests and answers each with what it received, or as its routes say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Received:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    def as_json(self) -> dict[str, Any]:
        return {"method": self.method, "target": self.target, "body": self.body.decode("utf-8", "replace")}


@dataclass(frozen=True)
class Reply:
    """A response.

    Attributes:
        missing_bytes: bytes of the body that never come, because the connection breaks.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    missing_bytes: int = 0


Route = Callable[[Received], Reply]


class EchoServer:
    """Serves on a free port of loopback while the block runs. `routes` answer a path; others are echoed."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.routes: dict[str, Route] = {}
        self.released = threading.Event()
        self.arrived = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                with suppress(ConnectionError):  # A client may leave: tests of limits and timeouts do.
                    self.raw_requestline = self.rfile.readline(65537)
                    if self.raw_requestline and self.parse_request():
                        server.answer(self)
                        return
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the output of the tests clean."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Received:
        return self.received[-1]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        got = Received(handler.command, handler.path, headers, handler.rfile.read(length))
        self.received.append(got)
        self.arrived.set()
        route = self.routes.get(got.path)
        reply = route(got) if route else Reply(body=json.dumps(got.as_json()).encode())
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body) + reply.missing_bytes))
        handler.end_headers()
        handler.wfile.write(reply.body)
        if reply.missing_bytes:
            handler.close_connection = True

    def hold(self, _: Received) -> Reply:
        """Answer when the test releases the server."""
        self.released.wait(30)
        return Reply()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

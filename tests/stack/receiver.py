"""A receiver of webhooks that does not answer its first delivery."""

from __future__ import annotations

import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = 60.0


class Receiver:
    """A context manager: a server that holds its first request without an answer until `answer_from_now_on`."""

    def __init__(self) -> None:
        self.ids: queue.Queue[str] = queue.Queue()
        self._has_dropped = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                is_first = not receiver._has_dropped.is_set()
                receiver.ids.put(self.headers["webhook-id"])
                if is_first:
                    receiver._has_dropped.wait(SECONDS)
                    return
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._server.server_port}/hook"

    def answer_from_now_on(self) -> None:
        """Drop the first request, and answer all others."""
        self._has_dropped.set()

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

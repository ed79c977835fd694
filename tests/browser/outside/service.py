"""The service that the agent `outside` reaches, and its OpenAPI document."""

from __future__ import annotations

from typing import Any

from tests.echo_server import EchoServer, Received, Reply

HELD, ORDERS = "/held", "/orders"
HOLD_SECONDS = 240


class Service(EchoServer):
    """Holds each request to `HELD` until the test releases it, and counts the requests to `ORDERS`."""

    def __init__(self) -> None:
        super().__init__()
        self.routes = {HELD: self._hold, ORDERS: lambda request: Reply(body=b'{"done": true}')}

    def begin(self) -> None:
        """Forget the requests so far, and hold the next ones."""
        self.received.clear()
        self.arrived.clear()
        self.released.clear()

    def count(self, path: str) -> int:
        """Return the number of requests to a path."""
        return sum(request.path == path for request in list(self.received))

    def _hold(self, request: Received) -> Reply:
        self.released.wait(HOLD_SECONDS)
        return Reply(body=b'{"pieces": 42}')


def api(url: str) -> dict[str, Any]:
    """Return the document of the service."""
    ok = {"200": {"description": "ok"}}
    place = {"operationId": "placeOrder", "summary": "Place an order.", "responses": ok}
    amount = {"name": "pieces", "in": "query", "schema": {"type": "integer"}}
    count = {"operationId": "countOrders", "summary": "Count the orders.", "responses": ok}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Orders", "version": "1"},
        "servers": [{"url": url}],
        "paths": {ORDERS: {"post": {**place, "parameters": [amount]}}, HELD: {"get": count}},
    }

"""The SDK's server of JSON-RPC on the site's request handler."""

from __future__ import annotations

import json
import logging
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from starlette.requests import Request

from runtime.apps.app import App
from sessions_app.api.access.callers import Caller
from sessions_app.asgi.protocol import AsgiScope, Receive, Send
from sessions_app.contrib.a2a.card import card_of
from sessions_app.contrib.a2a.handler import AGENT, SCOPE, SiteRequestHandler
from sessions_app.contrib.a2a.requests import AgentOfCaller

# The SDK logs each request that it cannot parse with a traceback; the program gets the reason.
for _name in ("a2a.server.routes.jsonrpc_dispatcher", "a2a.compat.v0_3.jsonrpc_adapter"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _ContextBuilder(DefaultServerCallContextBuilder):
    """Gives the handler the caller that `endpoint.py` has let in."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state[AGENT] = request.scope[AGENT]
        context.state[SCOPE] = request.scope
        return context


_dispatcher = JsonRpcDispatcher(
    SiteRequestHandler(), context_builder=_ContextBuilder(), enable_v0_3_compat=True
)


async def answer(
    caller: Caller, app_name: str, scope: AsgiScope, body: bytes, receive: Receive, send: Send
) -> None:
    """Answer a request of JSON-RPC, whose body was read already."""
    unread = [{"type": "http.request", "body": body}]

    async def replay() -> Any:
        return unread.pop() if unread else await receive()

    scope = {**scope, AGENT: AgentOfCaller(caller, app_name)}
    scope.pop("user", None)  # Starlette has users of its own kind.
    response = await _dispatcher.handle_requests(Request(scope, replay))
    await response(scope, replay, send)


def card_json(app: App, url: str) -> bytes:
    """Return the card of an app as JSON, also in the form of the protocol's version 0.3."""
    return json.dumps(agent_card_to_dict(card_of(app, url))).encode()

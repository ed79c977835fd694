"""The SDK's JSON-RPC server with the site's request handler, and the agent card of an app."""

import json
import logging

from a2a import types as a2a
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol
from starlette.requests import Request

from runtime.apps.app import App
from runtime.valid_text import valid_text
from sessions_app.api.access.callers import Caller
from sessions_app.api.tasks.requests import AgentOfCaller
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, replaying
from sessions_app.contrib.a2a.handler import AGENT, SCOPE, SiteRequestHandler

VERSION = "1"
INPUT_MODES = ("text/plain", "application/json", "application/octet-stream")
OUTPUT_MODES = ("text/plain", "application/octet-stream")
# The SDK logs a traceback for each request that it cannot parse. The program gets the reason; the log needs none.
for _name in ("a2a.server.routes.jsonrpc_dispatcher", "a2a.compat.v0_3.jsonrpc_adapter"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _ContextBuilder(DefaultServerCallContextBuilder):
    """Pass the caller, admitted by `endpoint.py`, to the handler."""

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
    """Answer a JSON-RPC request whose body was read already."""
    replay = replaying(body, receive)
    scope = {**scope, AGENT: AgentOfCaller(caller, app_name, "a2a")}
    scope.pop("user", None)  # Starlette expects its own kind of user there.
    response = await _dispatcher.handle_requests(Request(scope, replay))
    await response(scope, replay, send)


def card_json(app: App, url: str) -> bytes:
    """Return the card of an app as JSON, readable by clients of protocol 1.0 and 0.3."""
    return json.dumps(agent_card_to_dict(card_of(app, url))).encode()


def card_of(app: App, url: str) -> a2a.AgentCard:
    """Return the card of an app at the URL. Agents below the root are not listed."""
    name = app.name
    description = valid_text(app.root_agent.description or name)
    bearer = a2a.HTTPAuthSecurityScheme(scheme="Bearer", description="An API key of the site.")
    return a2a.AgentCard(
        name=name,
        description=description,
        version=VERSION,
        supported_interfaces=[
            a2a.AgentInterface(url=url, protocol_binding=TransportProtocol.JSONRPC, protocol_version=version)
            for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
        ],
        capabilities=a2a.AgentCapabilities(streaming=True, push_notifications=True),
        security_schemes={"key": a2a.SecurityScheme(http_auth_security_scheme=bearer)},
        security_requirements=[a2a.SecurityRequirement(schemes={"key": a2a.StringList()})],
        default_input_modes=INPUT_MODES,
        default_output_modes=OUTPUT_MODES,
        skills=[a2a.AgentSkill(id=name, name=name, description=description, tags=["chat"])],
    )

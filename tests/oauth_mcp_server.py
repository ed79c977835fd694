"""MCP server that wants an OAuth sign-in, made of the parts of the `mcp` package: its own authorization server.

It grants access without a page of its own, and takes nothing but PKCE with S256. A test changes `service` to let tokens
expire or end, and `hostile` to answer some paths with something else.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

Hostile = Callable[[Request], Response]


@dataclass
class Service(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens of the authorization server."""

    url: str
    lifetime: int = 3600
    sends_issuer: bool = True
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refresh: dict[str, RefreshToken] = field(default_factory=dict)
    refreshed: int = 0
    calls: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    hostile: dict[str, Hostile] = field(default_factory=dict)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(32)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        query = {"code": code, "state": params.state, "iss": self.url if self.sends_issuer else None}
        return construct_redirect_uri(str(params.redirect_uri), **query)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        self.refreshed += 1
        return self.issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.end_tokens()

    def issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        """Issue new tokens, which take the place of all earlier ones."""
        self.end_tokens()
        common: dict[str, Any] = {"client_id": client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(token=f"access-{secrets.token_hex(16)}", **common)
        refresh = RefreshToken(token=f"refresh-{secrets.token_hex(16)}", **common)
        self.access = {access.token: access}
        self.refresh = {refresh.token: refresh}
        return OAuthToken(
            access_token=access.token,
            refresh_token=refresh.token,
            expires_in=self.lifetime,
            scope=" ".join(scopes),
        )

    def end_tokens(self) -> None:
        self.access = {}
        self.refresh = {}

    def tokens(self) -> list[str]:
        """Return all that must not be seen anywhere."""
        return [*self.access, *self.refresh]


def without_slash(url: str) -> AnyHttpUrl:
    """Return the URL as it is; pydantic adds a slash otherwise, and issuers are compared as texts."""
    return TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True)).validate_python(url)


def mcp_app(service: Service) -> ASGIApp:
    server = MCPServer(
        "notes",
        auth_server_provider=service,
        auth=AuthSettings(
            issuer_url=without_slash(service.url),
            resource_server_url=AnyHttpUrl(f"{service.url}/mcp"),
            required_scopes=["notes"],
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["notes"], default_scopes=["notes"]
            ),
            revocation_options=RevocationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def read_notes() -> str:
        """Read the notes of the person."""
        service.calls.append("read_notes")
        return "Buy milk."

    app = server.streamable_http_app()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            service.requests.append(scope["path"])
            if hostile := service.hostile.get(scope["path"]):
                await hostile(Request(scope, receive))(scope, receive, send)
                return
        await app(scope, receive, send)

    return answer


def with_json(content: Any) -> Hostile:
    """Answer with this JSON."""
    return lambda _: JSONResponse(content)


@contextlib.contextmanager
def oauth_mcp_server() -> Iterator[Service]:
    """Serve on a free port of loopback, in a thread, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = Service(f"http://127.0.0.1:{listener.getsockname()[1]}")
        config = uvicorn.Config(mcp_app(service), log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield service
        finally:
            server.should_exit = True
            thread.join()

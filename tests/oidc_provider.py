"""An OpenID Connect provider on this machine that signs one person in without asking."""

from __future__ import annotations

import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT = "adk-site"


class Provider:
    """The provider. A context manager: serves on entry, stops on exit.

    Attributes:
        claims: what it tells of the person who signs in.
        userinfo: what its address of claims tells besides; a wrong `sub` is an attack.
    """

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "s-1", "preferred_username": "ada"}
        self.userinfo: dict[str, Any] = {}
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._challenges: dict[str, str] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answer(self, "")

            def do_POST(self) -> None:
                provider.answer(self, self.rfile.read(int(self.headers["content-length"])).decode())

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, body: str) -> None:
        """Answer one request of the protocol."""
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query or body).items()}
        if url.path == "/authorize":
            code = secrets.token_urlsafe()
            self._challenges[code] = query["code_challenge"]
            request.send_response(302)
            location = f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            request.send_header("Location", location)
            request.end_headers()
            return
        answers = {
            "/.well-known/openid-configuration": self._configuration,
            "/token": lambda: self._token(query),
            "/userinfo": lambda: {**self.claims, **self.userinfo},
            "/jwks": self._keys,
        }
        answer = json.dumps(answers[url.path]()).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def _token(self, query: dict[str, str]) -> dict[str, Any]:
        challenge = urlsafe_b64encode(sha256(query["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        assert self._challenges.pop(query["code"]) == challenge
        assert query["client_id"] == CLIENT and query["client_secret"] == "secret"
        now = int(time.time())
        told = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 60, **self.claims}
        token = jwt.encode(told, self.key, "RS256", {"kid": "1"})
        return {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def _keys(self) -> dict[str, Any]:
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**key, "kid": "1", "alg": "RS256", "use": "sig"}]}

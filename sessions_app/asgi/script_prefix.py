"""Addresses of a site that is served below a path: by `root_path` of the ASGI server, or `FORCE_SCRIPT_NAME`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from django.core.handlers.asgi import get_script_prefix

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send


def path_within_site(scope: AsgiScope) -> str:
    """Return the path of a request without the prefix; a proxy may have removed the prefix already."""
    path: str = scope["path"].removeprefix(get_script_prefix(scope))
    return path


def without_script_prefix(application: Application) -> Application:
    """Wrap a router of Channels, which does not know `FORCE_SCRIPT_NAME`."""

    # Not asynchronous: an idle socket would hold a frame more.
    def handle(scope: AsgiScope, receive: Receive, send: Send) -> Awaitable[Any]:
        return application({**scope, "path": path_within_site(scope), "root_path": ""}, receive, send)

    return handle

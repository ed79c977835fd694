"""The whole site on a real HTTP server, and the SDK's client of MCP with a key of the person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from mcp import Client

from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import site
from tests.integration.contrib.mcp.clients import client_with_key

__all__ = ["site"]


@asynccontextmanager
async def client_of(user: User, site: str, *scopes: str, **options: Any) -> AsyncGenerator[Client, None]:
    key = await sync_to_async(make_key)(user, *scopes)
    async with client_with_key(f"{site}/mcp", key, **options) as client:
        yield client

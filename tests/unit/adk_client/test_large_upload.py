"""Contract: a chunk that another request is still storing is sent again after a pause, and not for ever."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import Any

import httpx
import pytest
from adk_client import AsyncClient, Client, ConflictError, StoredFile

SITE = "http://site.example"
MAX_REQUESTS = 20
STATE = {
    "upload_id": "7c1d4b52-93f0-4f0e-8f4d-2b6a1c9e8d77",
    "session_id": "0b9c5f3e-5d0c-4b7e-9a51-3f1f6f1f2a10",
}
FILE = {
    "name": "a.bin",
    "version": 0,
    "mime_type": "text/plain",
    "size": 5,
    "sha256": "",
    "is_upload": True,
    "created_at": "2026-05-04T09:12:07Z",
}


class Site:
    """Refuses the first chunks, as if an earlier request were storing them."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.stored, self.requests = refusals, b"", 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        assert self.requests < MAX_REQUESTS, "The client does not give up."
        if request.method != "PATCH":
            return httpx.Response(200, json=self._state())
        self.refusals -= 1
        if self.refusals >= 0:
            return httpx.Response(409, json={"detail": "Another request stores a chunk of this upload."})
        self.stored += request.content
        return httpx.Response(204)

    def _state(self) -> dict[str, Any]:
        offset = len(self.stored)
        rest = {"name": "a.bin", "length": 5, "offset": offset, "expires_at": "2026-05-05T09:12:07Z"}
        return {**STATE, **rest, "file": FILE if offset == 5 else None}


def upload(site: Site, *, is_async: bool) -> StoredFile:
    transport = httpx.MockTransport(site)
    if not is_async:
        with Client(SITE, "key", attempts=2, transport=transport) as client:
            return client.upload_large("s", "a.bin", BytesIO(b"bytes"))

    async def send() -> StoredFile:
        async with AsyncClient(SITE, "key", attempts=2, transport=transport) as client:
            return await client.upload_large("s", "a.bin", BytesIO(b"bytes"))

    return asyncio.run(send())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_chunk_that_is_being_stored_is_sent_again(is_async: bool) -> None:
    site = Site(refusals=1)
    assert upload(site, is_async=is_async).name == "a.bin"
    assert site.stored == b"bytes"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_chunk_that_stays_refused_ends_the_upload(is_async: bool) -> None:
    with pytest.raises(ConflictError, match="Another request"):
        upload(Site(refusals=MAX_REQUESTS), is_async=is_async)

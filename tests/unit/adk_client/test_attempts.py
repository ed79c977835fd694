"""Contract: a request that the site asks to repeat is repeated under its key, and a conflict for good is not."""

from __future__ import annotations

import httpx
import pytest
from adk_client import Client, ConflictError

BUSY = {"detail": "The first request with this Idempotency-Key is being handled."}


class Site:
    """Refuses the first request with 409 and answers the next."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers
        self.keys: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers["idempotency-key"])
        return (
            httpx.Response(204)
            if len(self.keys) > 1
            else httpx.Response(409, json=BUSY, headers=self.headers)
        )


def delete(site: Site) -> None:
    with Client("http://site.example", "key", transport=httpx.MockTransport(site)) as client:
        client.delete_session("s")


def test_a_request_whose_first_attempt_is_being_handled_is_sent_again_under_its_key() -> None:
    site = Site({"retry-after": "0"})
    delete(site)
    assert len(site.keys) == 2 and len(set(site.keys)) == 1


def test_a_conflict_without_a_time_to_wait_is_final() -> None:
    with pytest.raises(ConflictError, match="being handled"):
        delete(Site({}))

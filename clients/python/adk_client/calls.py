"""Call: a request of the API as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
from pydantic import TypeAdapter

T = TypeVar("T")
Id = UUID | str
BASE = "/api/v1"


def address_part(value: Id) -> str:
    """Return a value as a segment of an address."""
    return quote(str(value), safe="")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the type of its response.

    Attributes:
        path: address below `/api/v1`.
        result: type of the response's JSON; None for bytes, and for a response without a body.
    """

    method: str
    path: str
    result: type[T] | None
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    files: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the request, which may be sent several times."""
        headers = {"Accept": "application/json" if self.result else "*/*", **self.headers}
        # Every attempt has the same key, so the site performs a write once, even if a response is lost.
        if self.method not in ("GET", "HEAD"):
            headers.setdefault("Idempotency-Key", uuid4().hex)
        query = {name: value for name, value in self.query.items() if value is not None}
        return http.build_request(
            self.method,
            BASE + self.path,
            params=query,
            json=self.json,
            files=self.files,
            headers=headers,
        )

    def read(self, response: httpx.Response) -> T:
        """Return the result from a response."""
        if self.result is not None:
            return TypeAdapter(self.result).validate_json(response.content)
        return response.content  # type: ignore[return-value]  # T is bytes or None

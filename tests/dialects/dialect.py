"""The part of a protocol that the model server needs."""

from __future__ import annotations

import json
from typing import Protocol

from tests.model_script import Failure, Json, Turn


class Dialect(Protocol):
    """A provider's form of a turn.

    `stream_pieces` are the bytes of the answer, one item for each thought, text and further part and one for all
    calls; the first includes what comes before and the last what comes after a proper end.
    """

    def stream_pieces(self, turn: Turn) -> list[bytes]: ...

    def stream_error(self) -> bytes: ...

    def whole(self, turn: Turn) -> Json: ...

    def failure(self, failure: Failure) -> Json: ...


def sse(data: Json, event: str | None = None) -> bytes:
    """Return one server-sent event; letters beyond ASCII stay as they are, as most servers send them."""
    head = f"event: {event}\r\n" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\r\n\r\n".encode()


def cut_up(text: str, size: int) -> list[str]:
    """Return a text in pieces, as a model sends a call's arguments."""
    return [text[start : start + size] for start in range(0, len(text), size)]

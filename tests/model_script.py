"""Scripts of the model server; `tests/dialects/` has their form in each provider's protocol."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

Json = dict[str, Any]


class Call(BaseModel):
    name: str
    args: Json = {}
    id: str | None = None
    thought_signature: str | None = None


class Failure(BaseModel):
    """An HTTP error in place of an answer: JSON as the API sends it, or `html` as a proxy sends it."""

    http_status: int
    status: str | None = None
    message: str = "The script asks for this failure."
    retry_delay: str | None = None
    retry_after: str | None = None
    html: str | None = None


class Turn(BaseModel):
    """One answer: a chunk for each thought, text and further part (in Gemini's JSON), then one for all calls.

    Reasons and usage are in Gemini's words; the other dialects translate them.

    Attributes:
        pages: address of the page that a text cites, by the index of the text.
        signature: the proof that Claude adds to its thoughts.
        keep_alive: the server sends a comment before each chunk.
        split: the stream is sent in pieces of so many bytes; 0 sends each chunk as it is.
        hold_before: indexes of the chunks before which the server waits for a release.
        pause: seconds to wait after each chunk.
        ending: the end of the stream: complete, a broken connection, or an error sent as a chunk.
    """

    thoughts: list[str] = []
    text: list[str] = []
    pages: dict[int, str] = {}
    parts: list[Json] = []
    calls: list[Call] = []
    finish_reason: str | None = "STOP"
    block_reason: str | None = None
    candidate: Json = {}
    usage: Json = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    signature: str = "signed"
    keep_alive: bool = False
    split: int = 0
    hold_before: list[int] = []
    pause: float = 0
    ending: Literal["proper", "cut", "error"] = "proper"
    failure: Failure | None = None


class Rule(BaseModel):
    """A turn for every request whose last content, as JSON, matches the regular expression `when`."""

    when: str
    turn: Turn


class Script(BaseModel):
    """Rules, tried first and in order, and turns, each played once."""

    rules: list[Rule] = []
    turns: list[Turn] = []

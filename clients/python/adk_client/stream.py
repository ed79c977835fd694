"""Stream: server-sent events as news, over several connections if necessary, without loss or repetition.

A broken connection is replaced by a request with the `seq` of the last event (`Last-Event-ID`), so no event is lost or
repeated. Streamed text has no `seq`: its pieces have an offset, counted in UTF-16 code units as in browsers. For each
text, `Stream` remembers what it has yielded, drops the known beginning of a repeated piece, and yields the missing end
when the event itself arrives.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adk_client.calls import Call
from adk_client.news import Ended, JobNews, NewEvent, News, OtherNews, RunNews, Text


@dataclass
class _ServerSentEvent:
    """Fields of the event whose lines are being read."""

    name: str = ""
    id: str = ""
    data: list[str] = field(default_factory=list)

    def set(self, name: str, value: str) -> None:
        """Read the next line."""
        if name == "event":
            self.name = value
        elif name == "id":
            self.id = value
        elif name == "data":
            self.data.append(value)


class Stream:
    """State of a stream between its connections: the last event, and the text yielded so far.

    Args:
        path: address below `/api/v1`.
        after: `seq` of the last known event; None for the beginning.

    Attributes:
        has_ended: True after the last news.
    """

    def __init__(self, path: str, after: int | None = None) -> None:
        self._path = path
        self._last_seq = after
        self._passed_on: dict[tuple[str, bool], bytearray] = {}  # In UTF-16.
        self._unfinished_line: list[bytes] = []  # Its pieces so far.
        self._event = _ServerSentEvent()
        self.has_ended = False

    def call(self) -> Call[bytes]:
        """Return the request for the missing news."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self._last_seq is not None:
            headers["Last-Event-ID"] = str(self._last_seq)
        # The last connection may have broken in the middle of a line.
        self._unfinished_line = []
        self._event = _ServerSentEvent()
        return Call("GET", self._path, None, headers=headers)

    def read(self, piece: bytes) -> Iterator[News]:
        """Read the next bytes of the response; yield the news completed by them."""
        # A long line arrives in many pieces: joining them only at its end keeps the cost linear.
        if b"\n" not in piece:
            self._unfinished_line.append(piece)
            return
        *lines, rest = b"".join([*self._unfinished_line, piece]).split(b"\n")
        self._unfinished_line = [rest]
        for line in lines:  # Not `splitlines`: a text may contain U+2028.
            yield from self._read_line(line.decode("utf-8", "replace").removesuffix("\r"))

    def _read_line(self, line: str) -> Iterator[News]:
        if line:
            # A heartbeat is a comment: its name is empty, and it sets no field.
            name, _, value = line.partition(":")
            self._event.set(name, value.removeprefix(" "))
            return
        event = self._event
        self._event = _ServerSentEvent()
        if event.data:
            yield from self._news_of(event.name, event.id, json.loads("\n".join(event.data)))

    def _news_of(self, name: str, number: str, fields: dict[str, Any]) -> Iterator[News]:
        match name:
            case "event":
                yield from self._new_event(int(number), fields)
            case "text":
                yield from self._unseen_text(fields)
            case "run":
                yield RunNews.model_validate(fields)
            case "job":
                yield JobNews.model_validate(fields)
            case "end":
                self.has_ended = True
                yield Ended.model_validate(fields)
            case "status":  # Each connection begins with one.
                pass
            case _:
                yield OtherNews(kind=name, fields=fields)

    def _new_event(self, seq: int, event: dict[str, Any]) -> Iterator[News]:
        # A new connection may repeat events that were sent while it was opened.
        if self._last_seq is not None and seq <= self._last_seq:
            return
        self._last_seq = seq
        for is_thought in (True, False):
            yield from self._rest_of_text(event, is_thought)
        yield NewEvent(seq=seq, event=event)

    def _rest_of_text(self, event: dict[str, Any], is_thought: bool) -> Iterator[News]:
        """Yield the end of an agent's text."""
        event_id = event.get("id", "")
        author = event.get("author", "")
        passed_on = self._passed_on.pop((event_id, is_thought), bytearray())
        parts = (event.get("content") or {}).get("parts") or []
        texts = (part.get("text") or "" for part in parts if bool(part.get("thought")) == is_thought)
        units = "".join(texts).encode("utf-16-le", "surrogatepass")
        # The site stops streaming a text when its event is there, so its last piece may be missing. A text that the
        # agent has changed is not continued: its beginning differs.
        if author == "user" or not units.startswith(passed_on) or len(units) == len(passed_on):
            return
        rest = units[len(passed_on) :].decode("utf-16-le", "replace")
        run_id = event.get("invocationId", "")
        yield Text(run_id=run_id, event_id=event_id, author=author, text=rest, thought=is_thought)

    def _unseen_text(self, fields: dict[str, Any]) -> Iterator[News]:
        """Yield the part of a piece that was not yielded before."""
        key = fields["event_id"], bool(fields["thought"])
        # A piece may begin or end within a surrogate pair.
        units = fields["text"].encode("utf-16-le", "surrogatepass")
        passed_on = self._passed_on.setdefault(key, bytearray())
        start = fields["offset"] * 2
        unseen = units[max(0, len(passed_on) - start) :]
        passed_on.extend(bytes(max(0, start - len(passed_on))))  # A gap, which the site does not leave.
        passed_on.extend(unseen)
        if unseen:
            yield Text.model_validate({**fields, "text": unseen.decode("utf-16-le", "replace")})

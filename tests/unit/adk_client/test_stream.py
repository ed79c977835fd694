"""Contract: a stream of the client passes on each news once, however its connections break."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from adk_client import Ended, NewEvent, News, OtherNews, RunNews, Text
from adk_client.stream import Stream
from hypothesis import given
from hypothesis import strategies as st

WORDS = "Grüße 💡\u2028\x85 من"


def frame(name: str, fields: dict[str, Any], seq: int | None = None) -> bytes:
    number = "" if seq is None else f"id: {seq}\n"
    return f"event: {name}\n{number}data: {json.dumps(fields, ensure_ascii=False)}\n\n".encode()


def event(seq: int, text: str = "hello", author: str = "clerk") -> bytes:
    content = {"parts": [{"text": text}]}
    return frame("event", {"id": f"e-{seq}", "author": author, "content": content}, seq)


def text(offset: int, words: str, event_id: str = "e-2") -> bytes:
    return frame(
        "text",
        {
            "run_id": "r",
            "event_id": event_id,
            "author": "clerk",
            "thought": False,
            "offset": offset,
            "text": words,
        },
    )


WHOLE = b"".join(
    [
        frame("status", {"last_seq": 1, "run": None}),
        event(1, author="user"),
        b": \n\n",
        frame("run", {"run_id": "r", "client_id": "c", "status": "running", "error": None}),
        text(0, WORDS),
        text(len(WORDS.encode("utf-16-le")) // 2, " more"),
        event(2, f"{WORDS} more"),
        frame("schedule", {"id": 7, "status": "active"}),
        frame("end", {"reason": "run_ended", "run_id": "r", "status": "completed", "error": None}),
    ]
)


def read(stream: Stream, *pieces: bytes) -> list[News]:
    return [news for piece in pieces for news in stream.read(piece)]


def test_a_stream_is_read_as_typed_news() -> None:
    first, status, words, more, second, other, end = read(Stream("/s"), WHOLE)
    assert isinstance(first, NewEvent) and (first.seq, first.author, first.text) == (1, "user", "hello")
    assert isinstance(status, RunNews) and status.status == "running"
    assert isinstance(words, Text) and isinstance(more, Text) and words.text + more.text == f"{WORDS} more"
    assert isinstance(second, NewEvent) and second.text == f"{WORDS} more"
    assert isinstance(other, OtherNews) and (other.kind, other.fields["id"]) == ("schedule", 7)
    assert isinstance(end, Ended) and (end.reason, end.status) == ("run_ended", "completed")


@given(st.lists(st.integers(0, len(WHOLE)), max_size=20))
def test_the_pieces_in_which_bytes_arrive_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    pieces = [WHOLE[start:end] for start, end in pairwise(edges)]
    assert read(Stream("/s"), *pieces) == read(Stream("/s"), WHOLE)


@given(st.integers(0, len(WHOLE)))
def test_after_a_broken_connection_nothing_is_lost_or_repeated(cut: int) -> None:
    """The site sends the events after `Last-Event-ID`, and text from its beginning."""
    stream = Stream("/s")
    before = read(stream, WHOLE[:cut])
    last = stream.call().headers.get("Last-Event-ID", "0")
    seen = before if stream.has_ended else [*before, *read(stream, rest_after(int(last)))]
    assert [news.seq for news in seen if isinstance(news, NewEvent)] == [1, 2]
    texts = "".join(news.text for news in seen if isinstance(news, Text))
    assert texts == f"{WORDS} more"
    assert stream.has_ended and isinstance(seen[-1], Ended)


def rest_after(seq: int) -> bytes:
    tail = [text(0, f"{WORDS} more"), event(2, f"{WORDS} more")] if seq < 2 else []
    head = [event(1, author="user")] if seq < 1 else []
    end = frame("end", {"reason": "run_ended", "run_id": "r", "status": "completed", "error": None})
    return b"".join([frame("status", {"last_seq": 2, "run": None}), *head, *tail, end])


def test_a_repeated_piece_within_a_character_is_cut_at_code_units() -> None:
    stream = Stream("/s")
    read(stream, text(0, "a💡b"))
    (more,) = read(stream, text(0, "a💡bc"))
    assert isinstance(more, Text) and more.text == "c"
    assert read(stream, text(1, "💡b")) == []


@pytest.mark.parametrize(
    ("streamed", "whole", "rest"),
    [
        ("", "All at once", ["All at once"]),
        ("Last words 💡", "Last words 💡 come with the event", [" come with the event"]),
        ("Nothing is missing", "Nothing is missing", []),
        ("Streamed", "Changed by a callback", []),
    ],
)
def test_the_words_that_no_piece_has_brought_come_before_the_event(
    streamed: str, whole: str, rest: list[str]
) -> None:
    stream = Stream("/s")
    read(stream, text(0, streamed))
    *texts, last = read(stream, event(2, whole))
    assert [news.text for news in texts if isinstance(news, Text)] == rest and len(texts) == len(rest)
    assert isinstance(last, NewEvent) and last.text == whole


def test_thoughts_and_words_are_told_apart() -> None:
    content = {"parts": [{"text": "hidden", "thought": True}, {"text": "said"}]}
    spoken = frame("event", {"id": "e-1", "author": "clerk", "invocationId": "r", "content": content}, 1)
    thought, words, _ = read(Stream("/s"), spoken)
    assert isinstance(thought, Text) and (thought.text, thought.thought, thought.run_id) == (
        "hidden",
        True,
        "r",
    )
    assert isinstance(words, Text) and (words.text, words.thought) == ("said", False)

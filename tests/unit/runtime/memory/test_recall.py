"""Contract F3, Q15: conversion of events to memory entries, and the words of a text."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.events import Event
from runtime.memory.memory_entry import distinct_words, memory_entry_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, the CAT!", ["the", "cat"]),
        ("Straße STRASSE", ["strasse"]),
        ("ada@example.com, foo_bar-baz", ["ada", "example", "com", "foo", "bar", "baz"]),
        ("cafe\u0301 café", ["café"]),
        ("?!", []),
    ],
)
def test_words_are_distinct_and_case_folded(text: str, words: list[str]) -> None:
    assert distinct_words(text) == words


def test_an_entry_holds_the_visible_text_only() -> None:
    parts = [
        types.Part(text="hm", thought=True),
        types.Part(text="My bicycle\0 is red."),
        types.Part(inline_data=types.Blob(data=b"picture", mime_type="image/png")),
    ]
    entry = memory_entry_of(
        Event(author="ada", timestamp=0.5, content=types.Content(role="user", parts=parts))
    )
    assert entry is not None
    assert entry.author == "ada" and entry.timestamp == "1970-01-01T00:00:00.500000+00:00"
    assert entry.content == types.Content(role="user", parts=[types.Part(text="My bicycle\ufffd is red.")])


@pytest.mark.parametrize(
    "part",
    [
        types.Part(text=" "),
        types.Part(text="hm", thought=True),
        types.Part(function_response=types.FunctionResponse(name="f", response={"secret": "x"})),
    ],
)
def test_an_event_without_visible_text_gives_no_entry(part: types.Part) -> None:
    assert memory_entry_of(Event(author="ada", content=types.Content(role="user", parts=[part]))) is None

"""Contract: each sentence that people read is translated, and what Django and the browser load is made of that."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from babel.messages.catalog import Message as Entry

from runtime.a2a import errors
from runtime.models.failures import sentence_for
from sessions_app.rendering.sentences import OF_THE_RUNTIME
from tests.catalogues import catalogue

LANGUAGES = list(catalogue.PLURAL_RULES)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
COUNTS = {"%(count)d", "%(rows)s", "%(number)s", "%(minutes)s", "{count}"}
"""Numbers that choose the plural form; "one file" and "two files" need not repeat them."""


def entries(language: str) -> list[Entry]:
    """Return the sentences of a catalogue without its head."""
    return [entry for entry in catalogue.read(language) if entry.id]


def texts(value: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    return (value or "",) if isinstance(value, str | None) else tuple(value)


class Tags(HTMLParser):
    """Tags of a text with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[f"{tag} {sorted(attrs)}"] += 1

    def handle_endtag(self, tag: str) -> None:
        self.found[f"/{tag}"] += 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_has_the_sentences_of_the_sources_and_no_others(language: str) -> None:
    of_sources = {(entry.context, *texts(entry.id)) for entry in catalogue.template() if entry.id}
    assert {(entry.context, *texts(entry.id)) for entry in entries(language)} == of_sources


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sentence_is_translated_in_all_its_plural_forms(language: str) -> None:
    forms = len(catalogue.PLURAL_RULES[language][1])
    for entry in entries(language):
        assert not entry.fuzzy, entry.id
        assert len(texts(entry.string)) == (forms if entry.pluralizable else 1), entry.id
        assert all(texts(entry.string)), entry.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_placeholders_and_markup_are_those_of_the_sentence(language: str) -> None:
    for entry in entries(language):
        original = texts(entry.id)[-1]
        wanted = Counter(PLACEHOLDER.findall(original))
        for text in texts(entry.string):
            found = Counter(PLACEHOLDER.findall(text))
            optional = COUNTS if entry.pluralizable and text != texts(entry.string)[-1] else set()
            assert {name for name in wanted if found[name] != wanted[name]} <= optional, text
            assert not found - wanted, text
            assert Tags(text).found == Tags(original).found, text
            assert ('"' in text) == ('"' in original), text  # a translation may stand in an attribute


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_files_are_those_of_the_catalogue(language: str) -> None:
    assert catalogue.mo_file(language).read_bytes() == catalogue.mo_bytes(language), "run `make translations`"
    assert catalogue.script_file(language).read_text() == catalogue.script(language), (
        "run `make translations`"
    )


@pytest.mark.parametrize(
    "code", ["UNAVAILABLE", "NOT_FOUND", "DEADLINE_EXCEEDED", "INVALID_ARGUMENT", "STREAM_CUT", "other"]
)
def test_the_sentences_of_model_errors_are_listed(code: str) -> None:
    assert sentence_for(code) in OF_THE_RUNTIME


def test_the_sentences_of_remote_agents_are_listed() -> None:
    assert set(errors.SENTENCES.values()) <= set(OF_THE_RUNTIME)

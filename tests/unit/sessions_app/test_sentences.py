"""Sentences in the language of the reader."""

from __future__ import annotations

from django.utils import translation

from sessions_app.rendering.sentences import in_language


def test_a_name_in_a_sentence_stays_as_it_is() -> None:
    with translation.override("de"):
        assert in_language("Archive") != "Archive"
        sentence = in_language("The file “Archive” has 2 MB; the limit is 1 MB.")
    assert "“Archive”" in sentence or "„Archive“" in sentence
    assert "The file" not in sentence


def test_a_sentence_in_a_sentence_is_translated() -> None:
    with translation.override("de"):
        inner = in_language("The model did not answer in time. Try again in a moment.")
        assert inner in in_language(
            "The job failed: The model did not answer in time. Try again in a moment."
        )

"""Contract: without an API key the demo model answers, and a banner says so."""

import pytest
from django.utils import translation

from adk_site.demo import banner, model_name


@pytest.mark.parametrize("key", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_with_a_key_the_configured_model_answers_and_there_is_no_banner(key: str) -> None:
    model = model_name("gemini-2.5-flash", {key: "secret"})
    assert model == "gemini-2.5-flash"
    assert banner(model, {key: "secret"}) == ""


@pytest.mark.parametrize("environ", [{}, {"GOOGLE_API_KEY": ""}])
def test_without_a_key_the_demo_model_answers_and_the_banner_says_so(environ: dict[str, str]) -> None:
    model = model_name("gemini-2.5-flash", environ)
    assert model == "demo"
    assert str(banner(model, environ)) == "No API key is set: a demo model answers."
    with translation.override("de"):
        assert str(banner(model, environ)) == "Es ist kein API-Schlüssel gesetzt: Ein Demo-Modell antwortet."


@pytest.mark.parametrize(
    "name", ["openai/gpt-5", "anthropic/claude-opus-5", "ollama/llama3.2", "http://gpu:8000/v1"]
)
def test_a_model_of_another_provider_is_kept_without_a_google_key(name: str) -> None:
    assert model_name(name, {}) == name
    assert banner(name, {}) == ""


def test_the_demo_model_can_be_configured_in_spite_of_a_key() -> None:
    environ = {"GOOGLE_API_KEY": "secret"}
    model = model_name("demo", environ)
    assert str(banner(model, environ)) == "A demo model answers."

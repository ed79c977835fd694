"""Without an API key the demo model answers, and the page says so (issue 2, "The model")."""

import pytest

from adk_site.demo import banner, model_name


@pytest.mark.parametrize("key", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_with_a_key_the_wanted_model_answers_and_there_is_no_banner(key: str) -> None:
    chosen = model_name("gemini-2.5-flash", {key: "secret"})
    assert chosen == "gemini-2.5-flash"
    assert banner(chosen, {key: "secret"}) == ""


@pytest.mark.parametrize("environ", [{}, {"GOOGLE_API_KEY": ""}])
def test_without_a_key_the_demo_model_answers_and_the_banner_says_so(environ: dict[str, str]) -> None:
    chosen = model_name("gemini-2.5-flash", environ)
    assert chosen == "demo"
    assert banner(chosen, environ) == "No API key is set: a built-in demo model answers."


def test_the_demo_model_can_be_chosen_although_there_is_a_key() -> None:
    environ = {"GOOGLE_API_KEY": "secret"}
    chosen = model_name("demo", environ)
    assert banner(chosen, environ) == "ADK_MODEL is 'demo': a built-in demo model answers."

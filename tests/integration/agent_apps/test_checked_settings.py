"""Django's system check reports settings of the agents that are unknown, unusable or incomplete."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from django.core.checks import run_checks

from sessions_app.agent_apps.checks import settings as checked_settings
from sessions_app.conf import conf
from tests.integration.agent_apps.reported_problems import WORDS_ONLY, problems
from tests.integration.conftest import WriteFolder


def test_a_setting_that_is_unknown_or_unusable_is_named(configure: Callable[..., None]) -> None:
    configure(lease_secs=3, queue_policy="hurry")
    unknown, unusable = sorted(problems())
    assert unknown.startswith("sessions_app.E007 settings.ADK['lease_secs']:")
    assert unusable.startswith("sessions_app.E007 settings.ADK['queue_policy']: Input should be 'enqueue'")


def test_settings_of_an_app_are_checked_too(configure: Callable[..., None]) -> None:
    configure(apps={"shoe_shop": {}, "help_desk": {"invocation_tokens": "many"}})
    unusable, unknown = sorted(problems())
    assert unusable.startswith("sessions_app.E007 settings.ADK['apps']['help_desk']['invocation_tokens']")
    assert unknown == (
        "sessions_app.E008 settings.ADK['apps'] names 'shoe_shop', which no agents.py or agent folder defines."
    )


def test_a_renamed_setting_has_its_effect_and_a_warning(configure: Callable[..., None]) -> None:
    configure(sockets_per_person=7, apps={"help_desk": {"invocations_of_app": 3}})
    assert conf().max_sockets_per_user == 7
    assert conf().of_app("help_desk").max_invocations_per_app == 3
    of_app, of_user = sorted(problems())
    assert of_app == (
        "sessions_app.W011 The setting 'invocations_of_app' of settings.ADK is now called 'max_invocations_per_app'."
    )
    assert of_user.endswith("'sockets_per_person' of settings.ADK is now called 'max_sockets_per_user'.")


def test_an_app_that_a2a_cannot_serve_is_named(configure: Callable[..., None]) -> None:
    configure(a2a_apps=["shoe_shop"])
    assert problems() == [
        "sessions_app.E016 settings.ADK['a2a_apps'] names 'shoe_shop', which no agents.py or agent folder defines."
    ]


def test_serving_by_a2a_needs_its_package(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(a2a_apps=["help_desk"])
    assert problems() == []
    monkeypatch.setitem(sys.modules, "a2a", None)
    [problem] = problems()
    assert problem == (
        "sessions_app.E017 settings.ADK['a2a_apps'] serves apps by A2A, but the package 'a2a-sdk' is not installed."
    )


def test_a_limit_on_the_cost_needs_prices(configure: Callable[..., None]) -> None:
    configure(invocation_cost=1.0)
    (warning,) = problems()
    assert (
        warning
        == "sessions_app.W002 The cost of invocations of 'help_desk' is limited, but demo has no price."
    )
    configure(max_cost_per_user=1.0)
    assert problems() == [warning]
    configure(invocation_cost=1.0, prices={"demo": {"input": 0.0, "output": 0.0}})
    assert problems() == []


PAL = """\
    from google.adk.agents import LlmAgent
    from google.adk.tools import load_memory

    root_agent = LlmAgent(name="pal", model="demo", tools=[load_memory])
"""


def test_f3_a_site_whose_memory_finds_words_only_is_told_so(
    configure: Callable[..., None], write_folder: WriteFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder("pal", agent=PAL)
    (note,) = [message for message in run_checks(tags=["agents"]) if message.id == WORDS_ONLY]
    assert "pal recall from memory, which finds words only." in note.msg
    configure(embeddings={"gemini-embedding-001": 8})
    monkeypatch.setenv("GOOGLE_API_KEY", "test")
    assert [message for message in run_checks(tags=["agents"]) if "emory" in message.msg] == []
    monkeypatch.setattr(checked_settings, "find_spec", lambda name: None)
    assert any("W013 Memory finds words only: the package 'pgvector'" in one for one in problems())


def test_f3_a_model_that_makes_no_embeddings_is_named(configure: Callable[..., None]) -> None:
    configure(embeddings={"claude-none": 8, "nobody/none": 8})
    found = " ".join(problems())
    assert "E019 settings.ADK['embeddings'] names 'claude-none', whose class of models makes none." in found
    assert "E015 settings.ADK['embeddings'] names 'nobody/none', which no registered class" in found
    configure(embeddings={"gemini-embedding-001": 4_001})
    assert "E007 settings.ADK['embeddings']['gemini-embedding-001']" in " ".join(problems())


def test_f3_settings_whose_package_is_missing_and_agents_of_slack_that_do_not_exist_are_named(
    configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(slack_tokens={"T1": "xoxb"}, slack_agents={"T1": "nobody"}, otlp_endpoint="http://localhost:1")
    [problem] = [one for one in problems() if "slack" in one or "otlp" in one]
    assert "W015 settings.ADK['slack_agents'] names 'nobody'" in problem
    monkeypatch.setattr(checked_settings, "find_spec", lambda name: None)
    found = " ".join(problems())
    assert "W014 settings.ADK['slack_tokens'] has no effect: the package 'slack_bolt'" in found
    assert "W014 settings.ADK['otlp_endpoint'] has no effect: the package 'opentelemetry'" in found
    assert "xoxb" not in found

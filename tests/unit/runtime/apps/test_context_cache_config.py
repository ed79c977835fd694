"""Settings of an app for the model provider's context cache."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from runtime.agents import LlmAgent
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.apps import App


def test_an_app_takes_cache_settings_and_has_none_by_default() -> None:
    config = ContextCacheConfig(ttl_seconds=600)
    assert (
        App(name="shop", root_agent=LlmAgent(name="a"), context_cache_config=config).context_cache_config
        == config
    )
    assert App(name="shop", root_agent=LlmAgent(name="a")).context_cache_config is None


@pytest.mark.parametrize(
    "wrong", [{"cache_intervals": 0}, {"ttl_seconds": 0}, {"min_tokens": -1}, {"ttl": 1}]
)
def test_invalid_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        ContextCacheConfig(**wrong)

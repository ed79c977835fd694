"""Contract: tokens and cost of model calls are the sums over the events, and a model without a price has no cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from runtime import types
from runtime.events import Event as RuntimeEvent
from sessions_app.conf import Conf
from sessions_app.history.costs import Usage, cost_of
from sessions_app.model_prices import LIST_PRICES, Price

CONF = Conf(prices={"gemini": Price(input=1.0, output=10.0, cached_input=0.1)})
USED = {
    "promptTokenCount": 1_000_000,
    "toolUsePromptTokenCount": 1_000_000,
    "cachedContentTokenCount": 500_000,
    "thoughtsTokenCount": 100_000,
    "candidatesTokenCount": 200_000,
}
COST = 1.5 * 1.0 + 0.5 * 0.1 + 0.3 * 10.0
ODD: tuple[Any, ...] = (
    "many", 7, [1], {"promptTokenCount": "5"}, {"promptTokenCount": -1}, {"promptTokenCount": 10**40},
    {"promptTokenCount": True}, {"promptTokenCount": [3]}, None,
)  # fmt: skip


def test_the_cost_counts_cached_input_and_thoughts_at_their_prices() -> None:
    event = RuntimeEvent(
        author="clerk",
        model_version="gemini-2.5-flash",
        usage_metadata=types.GenerateContentResponseUsageMetadata.model_validate(USED),
    )
    assert Usage.of(event) == Usage.of_json(USED) == Usage(2_000_000, 500_000, 100_000, 200_000)
    assert cost_of(event, CONF) == pytest.approx(COST)


def test_a_model_without_a_price_has_no_cost_rather_than_none_of_it() -> None:
    assert Usage(prompt=5).cost("home-made", CONF) is None
    assert Usage().cost("gemini-2.5-flash", CONF) == 0.0


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o-2024-08-06", 2.50),
        ("openai/gpt-4o-mini", 0.15),
        ("gemini-2.5-flash-preview-09-2025", 0.30),
        ("gemini-2.0-flash-001", 0.10),
        ("claude-sonnet-4-5@20250929", 3.00),
        ("claude-opus-4-5-20251101", 5.00),
        ("claude-opus-4-20250514", 15.00),
        # Other models, whose names only begin alike.
        ("gpt-4o-audio-preview", None),
        ("gpt-5-pro", None),
        ("gemini-2.5-flash-image", None),
        ("home-made", None),
        ("", None),
    ],
)
def test_well_known_models_have_a_list_price_that_the_settings_override(
    model: str, price: float | None
) -> None:
    found = Conf().price(model)
    assert (found and found.input) == price
    own = Conf(prices={model[:6]: Price(input=7.0, output=70.0)}).price(model)
    assert own is not None and own.input == 7.0


def test_the_list_has_the_prices_of_the_installed_litellm() -> None:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        pytest.skip("litellm is not installed.")
    stored = json.loads(
        Path(package.origin).with_name("model_prices_and_context_window_backup.json").read_text()
    )
    columns = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
    found = {}
    for model in LIST_PRICES:
        # Some models are there by the names of their versions only.
        versions = (name for name in stored if name.startswith((f"{model}-20", f"{model}-preview")))
        entry = stored[model if model in stored else next(versions)]
        found[model] = [round(entry[column] * 1e6, 4) for column in columns]
    assert found == {model: list(asdict(price).values()) for model, price in LIST_PRICES.items()}


def test_odd_counts_are_no_counts() -> None:
    assert all(Usage.of_json(metadata) == Usage() for metadata in ODD)

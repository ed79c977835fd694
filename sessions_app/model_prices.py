"""Prices of models, and list prices of well-known models, in US dollars for a million tokens of text.

`ADK["prices"]` takes precedence. Prices change, and batches, long prompts and priority service have others: these tell
which sessions and agents cost most, and replace no bill. They were compared with those of litellm 1.83.0 on 2026-11-29,
as the tests do with the installed litellm.
"""

import re

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Price:
    """Price of a model for a million tokens, in the site's currency.

    Attributes:
        output: price of output, with thoughts.
        cached_input: price of input tokens from the model's cache; None is the price of other input.
    """

    input: float
    output: float
    cached_input: float | None = None


LIST_PRICES = {
    "claude-haiku-4-5": Price(1.00, 5.00, 0.10),
    "claude-opus-4": Price(15.00, 75.00, 1.50),
    "claude-opus-4-1": Price(15.00, 75.00, 1.50),
    "claude-opus-4-5": Price(5.00, 25.00, 0.50),
    "claude-opus-4-6": Price(5.00, 25.00, 0.50),
    "claude-sonnet-4": Price(3.00, 15.00, 0.30),
    "claude-sonnet-4-5": Price(3.00, 15.00, 0.30),
    "claude-sonnet-4-6": Price(3.00, 15.00, 0.30),
    "gemini-2.0-flash": Price(0.10, 0.40, 0.025),
    "gemini-2.5-flash": Price(0.30, 2.50, 0.03),
    "gemini-2.5-flash-lite": Price(0.10, 0.40, 0.01),
    "gemini-2.5-pro": Price(1.25, 10.00, 0.125),
    "gemini-3-flash": Price(0.50, 3.00, 0.05),
    "gemini-3-pro": Price(2.00, 12.00, 0.20),
    "gemini-3.1-pro": Price(2.00, 12.00, 0.20),
    "gpt-4.1": Price(2.00, 8.00, 0.50),
    "gpt-4.1-mini": Price(0.40, 1.60, 0.10),
    "gpt-4.1-nano": Price(0.10, 0.40, 0.025),
    "gpt-4o": Price(2.50, 10.00, 1.25),
    "gpt-4o-mini": Price(0.15, 0.60, 0.075),
    "gpt-5": Price(1.25, 10.00, 0.125),
    "gpt-5-mini": Price(0.25, 2.00, 0.025),
    "gpt-5-nano": Price(0.05, 0.40, 0.005),
    "gpt-5.1": Price(1.25, 10.00, 0.125),
    "gpt-5.2": Price(1.75, 14.00, 0.175),
    "gpt-5.4": Price(2.50, 15.00, 0.25),
    "gpt-5.4-mini": Price(0.75, 4.50, 0.075),
    "gpt-5.4-nano": Price(0.20, 1.25, 0.02),
    "o3": Price(2.00, 8.00, 0.50),
    "o4-mini": Price(1.10, 4.40, 0.275),
}
_VERSION = re.compile(r"(?:[-@](?:latest|preview|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{3}))*")
"""Dates and numbers after the name. Any other ending is another model, such as `gpt-4o-audio`."""


def list_price(model: str) -> Price | None:
    """Return the price of a model by its name or the name of a version of it, with or without a provider before `/`."""
    name = model.rpartition("/")[2]
    for known, price in LIST_PRICES.items():
        if name.startswith(known) and _VERSION.fullmatch(name, len(known)):
            return price
    return None

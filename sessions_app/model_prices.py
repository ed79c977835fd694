"""List prices of well-known models, in US dollars for a million tokens of text.

`ADK["prices"]` takes precedence. Prices change, and batches, long prompts and priority service have others: these tell
which sessions and agents cost most, and replace no bill.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

AS_OF = date(2026, 11, 29)
"""Day on which the prices were compared with those of litellm 1.83.0, as the tests do with the installed litellm."""


class ListPrice(NamedTuple):
    """Price of input, of output with thoughts, and of input from the cache."""

    input: float
    output: float
    cached_input: float


LIST_PRICES = {
    "claude-haiku-4-5": ListPrice(1.00, 5.00, 0.10),
    "claude-opus-4": ListPrice(15.00, 75.00, 1.50),
    "claude-opus-4-1": ListPrice(15.00, 75.00, 1.50),
    "claude-opus-4-5": ListPrice(5.00, 25.00, 0.50),
    "claude-opus-4-6": ListPrice(5.00, 25.00, 0.50),
    "claude-sonnet-4": ListPrice(3.00, 15.00, 0.30),
    "claude-sonnet-4-5": ListPrice(3.00, 15.00, 0.30),
    "claude-sonnet-4-6": ListPrice(3.00, 15.00, 0.30),
    "gemini-2.0-flash": ListPrice(0.10, 0.40, 0.025),
    "gemini-2.5-flash": ListPrice(0.30, 2.50, 0.03),
    "gemini-2.5-flash-lite": ListPrice(0.10, 0.40, 0.01),
    "gemini-2.5-pro": ListPrice(1.25, 10.00, 0.125),
    "gemini-3-flash": ListPrice(0.50, 3.00, 0.05),
    "gemini-3-pro": ListPrice(2.00, 12.00, 0.20),
    "gemini-3.1-pro": ListPrice(2.00, 12.00, 0.20),
    "gpt-4.1": ListPrice(2.00, 8.00, 0.50),
    "gpt-4.1-mini": ListPrice(0.40, 1.60, 0.10),
    "gpt-4.1-nano": ListPrice(0.10, 0.40, 0.025),
    "gpt-4o": ListPrice(2.50, 10.00, 1.25),
    "gpt-4o-mini": ListPrice(0.15, 0.60, 0.075),
    "gpt-5": ListPrice(1.25, 10.00, 0.125),
    "gpt-5-mini": ListPrice(0.25, 2.00, 0.025),
    "gpt-5-nano": ListPrice(0.05, 0.40, 0.005),
    "gpt-5.1": ListPrice(1.25, 10.00, 0.125),
    "gpt-5.2": ListPrice(1.75, 14.00, 0.175),
    "gpt-5.4": ListPrice(2.50, 15.00, 0.25),
    "gpt-5.4-mini": ListPrice(0.75, 4.50, 0.075),
    "gpt-5.4-nano": ListPrice(0.20, 1.25, 0.02),
    "o3": ListPrice(2.00, 8.00, 0.50),
    "o4-mini": ListPrice(1.10, 4.40, 0.275),
}
_VERSION = re.compile(r"(?:[-@](?:latest|preview|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{3}))*")
"""Dates and numbers after the name. Any other ending is another model, such as `gpt-4o-audio`."""


def list_price(model: str) -> ListPrice | None:
    """Return the price of a model by its name or the name of a version of it, with or without a provider before `/`."""
    name = model.rpartition("/")[2]
    for known in sorted(LIST_PRICES, key=len, reverse=True):
        if name.startswith(known) and _VERSION.fullmatch(name, len(known)):
            return LIST_PRICES[known]
    return None

"""Which calls to Gemini are tried again, and when.

google-genai retries too, but does not keep to the delay that the server asks for, nor stop where that is too
long.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx2
from google.genai import errors

from runtime import types
from runtime.models.google_errors import FAILURES, as_model_error

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RetryPolicy:
    """`types.HttpRetryOptions` with every default filled in. Delays are in seconds."""

    attempts: int = 4
    initial_delay: float = 1.0
    max_delay: float = 60.0
    exp_base: float = 2.0
    jitter: float = 1.0
    http_status_codes: tuple[int, ...] = (429, 500, 502, 503, 504)

    @classmethod
    def of(cls, options: types.HttpRetryOptions | None) -> RetryPolicy:
        return cls(**options.model_dump(exclude_none=True)) if options else cls()

    def delay(self, attempts_made: int, failure: Exception) -> float | None:
        """Seconds until the next attempt; None when there is to be none."""
        if attempts_made >= self.attempts or not self._is_transient(failure):
            return None
        asked_for = _delay_asked_for(failure)
        if asked_for is not None and asked_for > self.max_delay:
            return None
        backoff = min(self.initial_delay * self.exp_base ** (attempts_made - 1), self.max_delay)
        return max(backoff, asked_for or 0.0) + random.uniform(0, self.jitter)  # noqa: S311  (no secret)

    def _is_transient(self, failure: Exception) -> bool:
        if isinstance(failure, errors.APIError):
            return failure.code in self.http_status_codes
        # The caller chose how long to wait for an answer, so a timeout is final.
        return isinstance(failure, httpx2.TransportError) and not isinstance(failure, httpx2.TimeoutException)


async def with_retries(attempt: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
    """Make the attempt until it succeeds or the policy gives up.

    Raises:
        ModelError: the last attempt's failure.
    """
    attempts_made = 0
    while True:
        try:
            return await attempt()
        except FAILURES as failure:
            attempts_made += 1
            delay = policy.delay(attempts_made, failure)
            if delay is None:
                raise as_model_error(failure) from failure
            logger.warning("Model call failed, next attempt in %.1f s: %s", delay, as_model_error(failure))
        await asyncio.sleep(delay)


def _delay_asked_for(failure: Exception) -> float | None:
    """In seconds, what `RetryInfo` in the error's details says, else the `Retry-After` header."""
    if not isinstance(failure, errors.APIError):
        return None
    for detail in _details(failure.details):
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return _seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    if isinstance(failure.response, httpx2.Response):
        return _seconds(failure.response.headers.get("retry-after", ""))
    return None


def _details(body: object) -> list[dict[str, object]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details", []) if isinstance(error, dict) else []
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

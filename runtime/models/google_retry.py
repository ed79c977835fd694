"""Retries of failed calls to Gemini.

google-genai's own retries ignore the delay that the server asks for, and do not give up when that delay is too long.
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
    """`types.HttpRetryOptions` with all defaults set. Delays are in seconds."""

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
        """Return the seconds to wait before the next attempt; None when the call is not tried again."""
        if attempts_made >= self.attempts or not self._is_transient(failure):
            return None
        requested = _requested_delay(failure)
        if requested is not None and requested > self.max_delay:
            return None
        backoff = min(self.initial_delay * self.exp_base ** (attempts_made - 1), self.max_delay)
        return max(backoff, requested or 0.0) + random.uniform(0, self.jitter)  # noqa: S311  (no secret)

    def _is_transient(self, failure: Exception) -> bool:
        if isinstance(failure, errors.APIError):
            return failure.code in self.http_status_codes
        # The caller chose how long to wait for an answer, so a timeout is final.
        return isinstance(failure, httpx2.TransportError) and not isinstance(failure, httpx2.TimeoutException)


async def with_retries(attempt: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
    """Repeat the attempt until it succeeds or the policy gives up.

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
            logger.warning("Model call failed; next attempt in %.1f s: %s", delay, as_model_error(failure))
        await asyncio.sleep(delay)


def _requested_delay(failure: Exception) -> float | None:
    """Return the seconds in `RetryInfo` of the error's details, else in the `Retry-After` header, else None."""
    if not isinstance(failure, errors.APIError):
        return None
    for detail in _details(failure.details):
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return _parse_seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    if isinstance(failure.response, httpx2.Response):
        return _parse_seconds(failure.response.headers.get("retry-after", ""))
    return None


def _details(body: object) -> list[dict[str, object]]:
    error = body.get("error", body) if isinstance(body, dict) else {}
    details = error.get("details", []) if isinstance(error, dict) else []
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _parse_seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

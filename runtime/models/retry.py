"""Retries of failed calls.

They replace the clients' own retries, which differ: google-genai ignores the delay that the server asks for, and no
client gives up when that delay is too long.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from runtime import types
from runtime.models.failed_attempts import note_failed_attempt
from runtime.models.failures import CallFailure, FailureReader

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
    http_status_codes: tuple[int, ...] = (429, 500, 502, 503, 504, 529)

    @classmethod
    def of(cls, options: types.HttpRetryOptions | None) -> RetryPolicy:
        return cls(**options.model_dump(exclude_none=True)) if options else cls()

    def delay(self, attempts_made: int, failure: CallFailure) -> float | None:
        """Return the seconds to wait before the next attempt; None when the call is not tried again."""
        if attempts_made >= self.attempts or not self._is_transient(failure):
            return None
        requested = failure.requested_delay
        if requested is not None and requested > self.max_delay:
            return None
        backoff = min(self.initial_delay * self.exp_base ** (attempts_made - 1), self.max_delay)
        return max(backoff, requested or 0.0) + random.uniform(0, self.jitter)  # noqa: S311  # no secret

    def _is_transient(self, failure: CallFailure) -> bool:
        if failure.kind == "refused":
            return failure.http_status in self.http_status_codes
        # The caller chose how long to wait for an answer, so a timeout is final.
        return failure.kind == "connection"


async def with_retries(
    attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, failures: FailureReader
) -> T:
    """Repeat the attempt until it succeeds or the policy gives up.

    Raises:
        ModelError: the last attempt's failure.
    """
    attempts_made = 0
    while True:
        try:
            return await attempt()
        except failures.exceptions as exception:
            attempts_made += 1
            failure = failures.read(exception)
            delay = policy.delay(attempts_made, failure)
            if delay is None:
                raise failure.error from exception
            note_failed_attempt(failure.error)
            logger.warning("Model call failed; next attempt in %.1f s: %s", delay, failure.error)
        await asyncio.sleep(delay)

"""Retries of failed calls, and the limits of a call.

Both come from the request's `http_options`, otherwise from the model. The clients' own retries are turned off because
they differ: google-genai ignores the delay that the server asks for, and no client gives up when it is too long.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from runtime import types
from runtime.models.failures import CallFailure, FailureReader
from runtime.models.llm_request import LlmRequest

T = TypeVar("T")

logger = logging.getLogger(__name__)

_failed_attempts: ContextVar[list[str] | None] = ContextVar("failed attempts", default=None)


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
    def of(cls, options: types.HttpRetryOptions | None) -> "RetryPolicy":
        if options:
            return cls(**options.model_dump(exclude_none=True))
        return cls()

    def delay(self, attempts_made: int, failure: CallFailure) -> float | None:
        """Return the seconds to wait before the next attempt; None if the call must not be repeated."""
        if attempts_made >= self.attempts or not self._is_transient(failure):
            return None
        requested = failure.requested_delay
        # The user would wait longer than the policy allows; an earlier attempt would be refused again.
        if requested is not None and requested > self.max_delay:
            return None
        backoff = min(self.initial_delay * self.exp_base ** (attempts_made - 1), self.max_delay)
        # Jitter spreads the calls that one overload has made fail together.
        return max(backoff, requested or 0.0) + random.uniform(0, self.jitter)  # noqa: S311  # no secret

    def _is_transient(self, failure: CallFailure) -> bool:
        if failure.kind == "refused":
            return failure.http_status in self.http_status_codes
        # The caller chose how long to wait for an answer, so a timeout is final.
        return failure.kind == "connection"


async def with_retries(
    attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, failures: FailureReader
) -> T:
    """Await `attempt` until it succeeds or the policy gives up.

    Raises:
        ModelError: the last attempt failed.
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


def timeout_of(llm_request: LlmRequest, own: float | None) -> float | None:
    """Return the seconds for which the model may be silent; None means no limit."""
    options = llm_request.config.http_options
    # google-genai counts in milliseconds.
    return options.timeout / 1000 if options and options.timeout else own


def retry_policy_of(llm_request: LlmRequest, own: types.HttpRetryOptions | None) -> RetryPolicy:
    """Return the retry policy of the request, otherwise the model's own."""
    options = llm_request.config.http_options
    return RetryPolicy.of((options and options.retry_options) or own)


def collect_failed_attempts() -> list[str]:
    """Return a list to which `note_failed_attempt` adds in this context, until the next call of this function."""
    attempts: list[str] = []
    _failed_attempts.set(attempts)
    return attempts


def note_failed_attempt(error: Exception) -> None:
    """Record the error of an attempt that is followed by another. Do nothing if no list collects them."""
    attempts = _failed_attempts.get()
    if attempts is not None:
        attempts.append(str(error))

"""Attempts: the count of failed attempts, and the time until the next one. The clients do the waiting."""

from __future__ import annotations

import random

import httpx

from adk_client.errors import ConnectionLostError, error_of

TEMPORARY = {429, 502, 503, 504}
MAX_WAIT = 10.0


class Attempts:
    """The attempts of one request, or of one stream.

    Args:
        most: limit of the attempts in a row without success.
        patience: longest time in seconds that the site may ask to wait.
    """

    def __init__(self, most: int, patience: float) -> None:
        self._max_attempts = most
        self._patience = patience
        self._failures = 0

    def note_success(self) -> None:
        """Forget the failures."""
        self._failures = 0

    def seconds_after(self, failure: httpx.Response | httpx.TransportError | None) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            failure: a response that refuses the request, whose body has been read; None for a stream that broke off.

        Raises:
            ApiError: the site refuses the request for good, or for too long.
            ConnectionLostError: there were too many attempts.
        """
        self._failures += 1
        is_last = self._failures >= self._max_attempts
        if isinstance(failure, httpx.Response):
            error = error_of(failure)
            wait = self._pause() if error.retry_after is None else error.retry_after
            is_temporary = error.status in TEMPORARY or error.retry_after is not None
            if is_last or not is_temporary or wait > self._patience:
                raise error
            return wait
        if is_last:
            reason = f": {failure}" if failure is not None and str(failure) else ""
            raise ConnectionLostError(
                f"The site did not answer {self._max_attempts} attempts{reason}."
            ) from failure
        return self._pause()

    def _pause(self) -> float:
        """Return a time that doubles with each failure, a little different for each client."""
        doubled = 0.25 * float(2 ** (self._failures - 1))
        return min(doubled, MAX_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311  # no secret

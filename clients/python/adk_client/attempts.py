"""Attempts: decide whether and when a failed request is sent again. The clients do the waiting.

A connection that breaks and the statuses in `TEMPORARY` are worth another attempt; any other refusal is final. A site
that asks to wait (`Retry-After`) is obeyed, up to the caller's patience.
"""

import random

import httpx

from adk_client.errors import ConnectionLostError, error_of

TEMPORARY = {429, 502, 503, 504}
MAX_WAIT = 10.0


class Attempts:
    """Attempts of a request, or of a stream.

    Args:
        most: maximum number of successive attempts without success.
        patience: maximum time in seconds to wait if the site asks for it.
    """

    def __init__(self, most: int, patience: float) -> None:
        self._max_attempts = most
        self._patience = patience
        self._failures = 0

    def note_success(self) -> None:
        """Reset the number of failures."""
        self._failures = 0

    def seconds_after(self, failure: httpx.Response | httpx.TransportError | None) -> float:
        """Return the seconds to wait before the next attempt.

        Args:
            failure: a refusing response whose body has been read, or an error; None for a stream that broke off.

        Raises:
            ApiError: the site refuses the request finally, or for longer than `patience`.
            ConnectionLostError: there were too many attempts.
        """
        self._failures += 1
        is_last = self._failures >= self._max_attempts
        if isinstance(failure, httpx.Response):
            error = error_of(failure)
            wait = self._pause() if error.retry_after is None else error.retry_after
            is_temporary = error.status in TEMPORARY or error.retry_after is not None
            # Whether to wait longer is the caller's decision.
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
        """Return a time that doubles with each failure."""
        # A little different for each client: many clients lose their connections at the same moment.
        doubled = 0.25 * float(2 ** (self._failures - 1))
        return min(doubled, MAX_WAIT) * random.uniform(0.75, 1.25)  # noqa: S311  # no secret

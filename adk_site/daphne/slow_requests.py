"""End of requests that trickle in.

Twisted ends a connection that is silent for a minute, but a byte now and then keeps it open for ever, and the processes
accept only so many. Here a request has a minute for its headers, and its body must go on.
"""

from daphne import http_protocol
from twisted.web.http import HTTPChannel

MIN_BYTES_A_MINUTE = 30_000


def end_slow_requests() -> None:
    """Make Daphne close connections whose requests come slower than `MIN_BYTES_A_MINUTE`."""
    http_protocol.HTTPFactory.protocol = _ImpatientChannel


class _ImpatientChannel(HTTPChannel):
    """Connection whose time runs on until enough of a request has arrived."""

    _received = 0
    """Bytes since the time began to run."""

    def dataReceived(self, data: bytes) -> None:
        """Take a piece of a request."""
        is_beginning = self._received == 0
        self._received += len(data)
        if is_beginning or self._received > MIN_BYTES_A_MINUTE:
            super().resetTimeout()  # type: ignore[no-untyped-call]
        if self._received > MIN_BYTES_A_MINUTE:
            self._received = 1
        super().dataReceived(data)  # type: ignore[no-untyped-call]

    def resetTimeout(self) -> None:
        """Do nothing: Twisted calls this for each piece, however small."""

    def allContentReceived(self) -> None:
        """Handle the request. The time of the next one begins with its first byte."""
        self._received = 0
        super().allContentReceived()  # type: ignore[no-untyped-call]

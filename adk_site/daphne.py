"""Changes to Daphne's internals: limits on requests, its errors as problem details, an access log without secrets.

Each change prevents a failure; none is made for speed.

Bodies: Daphne stores the whole body of a request before it calls the application, so no view can refuse a body in time:
one large upload would fill the disk or the memory of the process. The request class below checks the announced length
first, then each piece of a body in chunks. A refused request is answered immediately; what the client still sends is
dropped, and the connection is closed.

Slow requests: Twisted ends a connection that is silent for a minute, but a byte now and then keeps it open for ever,
and the processes accept only so many. Here a request has a minute for its headers, and its body must keep coming.

Access log: Daphne writes it to a file itself, so a filter of Python's logging could not mask a key in it.
"""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote

from daphne import access, cli, http_protocol
from django.conf import settings
from django.template.defaultfilters import filesizeformat
from twisted.web.http import HTTPChannel

from sessions_app.asgi.problem_details import CODES, CONTENT_TYPE, is_for_programs, problem
from sessions_app.conf import conf
from sessions_app.secrets.masking import mask_text, masking

MIN_BYTES_A_MINUTE = 30_000


def limit_bodies() -> None:
    """Make Daphne refuse bodies larger than the largest upload with its form."""
    http_protocol.WebRequest = _LimitedRequest


class _LimitedRequest(http_protocol.WebRequest):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's request, refused before its end if it is too large."""

    _is_refused = False

    def gotLength(self, length: int | None) -> None:
        """Note the length from the header; None for a body in chunks."""
        is_too_large = length is not None and length > _largest_body()
        # Zero, so Daphne reserves no space for a body that is dropped.
        super().gotLength(0 if is_too_large else length)
        if is_too_large:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Store a piece of the body, unless the request is refused."""
        if not self._is_refused and self.content.tell() + len(data) > _largest_body():
            self._refuse()
        if not self._is_refused:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Handle the request after the end of its body."""
        if self._is_refused:
            # The answer was sent with `more_body`, so it ends with the request and not before.
            return self.handle_reply({"type": "http.response.body"})
        return super().process()

    def _refuse(self) -> None:
        self._is_refused = True
        # Twisted sets both attributes only at the end of the body, but a reply needs them.
        self.clientproto = b"HTTP/1.1"
        self.uri = self.channel._path
        sentence = f"The request is too large. A file may have {filesizeformat(conf().upload_bytes)}."
        if self._is_of_program():
            content_type = CONTENT_TYPE
            body = problem(413, sentence, "too_large").content
        else:
            content_type = "application/json"
            body = json.dumps({"error": sentence}).encode()
        headers = {
            b"content-type": content_type.encode(),
            b"content-length": b"%d" % len(body),
            b"connection": b"close",
        }
        self.handle_reply({"type": "http.response.start", "status": 413, "headers": headers.items()})
        self.handle_reply({"type": "http.response.body", "body": body, "more_body": True})

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Answer a request that Daphne itself refuses, or whose handling failed."""
        if not self._is_of_program():
            super().basic_error(status, status_text, body)
            return
        response = problem(status, f"{body.rstrip('.')}.", CODES.get(HTTPStatus(status), "invalid"))
        headers = [(b"content-type", CONTENT_TYPE.encode())]
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": response.content})

    def _is_of_program(self) -> bool:
        path = self.uri.decode("latin-1").removeprefix(settings.FORCE_SCRIPT_NAME or "")
        return is_for_programs(path)


def _largest_body() -> int:
    """Return the maximum size of a body in bytes: the largest upload, and the other fields of its form."""
    return conf().upload_bytes + settings.DATA_UPLOAD_MAX_MEMORY_SIZE


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


def mask_access_log() -> None:
    """Make Daphne write its access log without queries and with masked paths."""
    cli.AccessLogGenerator = MaskedAccessLog


class MaskedAccessLog(access.AccessLogGenerator):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's access log without queries, which may contain a search or a misplaced key."""

    def write_entry(self, host: str, date: Any, request: str, **values: Any) -> None:
        """Write the line for a request: its method and its address."""
        super().write_entry(host, date, _masked(request), **values)


def _masked(request: str) -> str:
    shown = request.partition("?")[0]
    # Masking needs the plain text: a percent-encoded key would not be recognized.
    plain = unquote(shown)
    with masking():
        masked = mask_text(plain)
    return shown if masked == plain else quote(masked, safe=" /[]=:")

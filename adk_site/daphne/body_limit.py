"""Refusals before the application: a limit on the size of bodies, and Daphne's own errors as problem details.

Daphne stores the whole body of a request before it calls the application, so no view can refuse a body in time: one
large upload would fill the disk or the memory of the process. The request class below checks the announced length
first, then each piece of a body in chunks. A refused request is answered immediately; what the client still sends is
dropped, and the connection is closed.
"""

import json
from http import HTTPStatus
from typing import Any

from daphne import http_protocol
from django.conf import settings
from django.template.defaultfilters import filesizeformat

from sessions_app.asgi.problem_details import CODES, CONTENT_TYPE, is_for_programs, problem
from sessions_app.conf import conf


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

"""Limit on the bodies of HTTP requests under Daphne.

Daphne stores the whole body of a request before it calls the application, so no view can refuse a body in time.
"""

from __future__ import annotations

import json
from typing import Any

from daphne import http_protocol
from django.conf import settings
from django.template.defaultfilters import filesizeformat

from sessions_app.conf import conf


def limit_bodies() -> None:
    """Let Daphne refuse bodies that are larger than the largest upload with its form."""
    http_protocol.WebRequest = _LimitedRequest


class _LimitedRequest(http_protocol.WebRequest):  # type: ignore[misc]  # Daphne has no type hints
    """Request of Daphne. One that is too large is answered at once, and the rest of its body is dropped unread."""

    _is_refused = False

    def gotLength(self, length: int | None) -> None:
        """Note the length that the header tells; None for a body in chunks."""
        is_too_large = length is not None and length > _most_bytes()
        super().gotLength(0 if is_too_large else length)
        if is_too_large:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Store a piece of the body."""
        if not self._is_refused and self.content.tell() + len(data) > _most_bytes():
            self._refuse()
        if not self._is_refused:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Handle the request, whose body has ended."""
        if not self._is_refused:
            return super().process()
        return self.handle_reply({"type": "http.response.body"})

    def _refuse(self) -> None:
        self._is_refused = True
        self.clientproto = b"HTTP/1.1"  # Twisted sets the version when the body has ended.
        limit = filesizeformat(conf().upload_bytes)
        body = json.dumps({"error": f"The request is too large. A file may have {limit}."}).encode()
        headers = {
            b"content-type": b"application/json",
            b"content-length": b"%d" % len(body),
            b"connection": b"close",
        }
        self.handle_reply({"type": "http.response.start", "status": 413, "headers": headers.items()})
        self.handle_reply({"type": "http.response.body", "body": body, "more_body": True})


def _most_bytes() -> int:
    """Return the size of the largest upload and of all that Django takes of a form beside files."""
    return conf().upload_bytes + settings.DATA_UPLOAD_MAX_MEMORY_SIZE

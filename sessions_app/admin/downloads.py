"""Responses with downloads for staff. Each file is made for its request, and no cache keeps the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

_PRIVATE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
_CONTENT_TYPES = {".zip": "application/zip", ".html": "text/html; charset=utf-8"}


def as_download(target: Path) -> FileResponse:
    """Return a `.zip` or `.html` file as a download."""
    # The open file is sent even after the caller has deleted it with its directory.
    return FileResponse(
        target.open("rb"),
        as_attachment=True,
        filename=target.name,
        content_type=_CONTENT_TYPES[target.suffix],
        headers=_PRIVATE,
    )


def streamed_download(
    name: str, content: AsyncIterator[str] | AsyncIterator[bytes], content_type: str
) -> StreamingHttpResponse:
    """Return a download of the pieces of a file as they come. The whole file is never in memory."""
    headers = {**_PRIVATE, "Content-Disposition": content_disposition_header(True, name) or "attachment"}
    return StreamingHttpResponse(content, content_type=content_type, headers=headers)


def json_download(name: str, text: str) -> HttpResponse:
    """Return a JSON text as a download."""
    headers = {**_PRIVATE, "Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="application/json", headers=headers)

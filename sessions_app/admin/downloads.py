"""Files that staff download once: written for the request, and kept by no cache."""

from __future__ import annotations

from pathlib import Path

from django.http import FileResponse

_CONTENT_TYPES = {".zip": "application/zip", ".html": "text/html; charset=utf-8"}


def as_download(target: Path) -> FileResponse:
    """Return the file as a download. It may be deleted before it is sent: the open file outlives its name."""
    return FileResponse(
        target.open("rb"),
        as_attachment=True,
        filename=target.name,
        content_type=_CONTENT_TYPES[target.suffix],
        headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"},
    )

"""Responses with downloads. Each file is made for its request, and no cache keeps the file."""

from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path, PurePath
from typing import IO

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

from sessions_app.asgi.artifact_files import CHUNK_BYTES
from sessions_app.process.threads import download_threads

_PRIVATE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-store"}
_CONTENT_TYPES = {".zip": "application/zip", ".html": "text/html; charset=utf-8"}


def as_download(target: Path) -> StreamingHttpResponse:
    """Return a `.zip` or `.html` file as a download."""
    # The open file is sent even after the caller has deleted it with its directory.
    return stored_download(target.name, target.open("rb"))


def stored_download(name: str, file: IO[bytes]) -> StreamingHttpResponse:
    """Return an open `.zip` or `.html` file as a download."""
    return streamed_download(name, _Pieces(file), _CONTENT_TYPES[PurePath(name).suffix])


class _Pieces:
    """Pieces of a file, which is closed with its response, even if nobody reads the response."""

    # No FileResponse: under ASGI Django reads it whole into memory.
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = file.close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await download_threads.run(self._file.read, CHUNK_BYTES):
            yield piece


def streamed_download(
    name: str, content: AsyncIterable[str] | AsyncIterable[bytes], content_type: str
) -> StreamingHttpResponse:
    """Return a download of the pieces of a file as they come. The whole file is never in memory."""
    headers = {**_PRIVATE, "Content-Disposition": content_disposition_header(True, name) or "attachment"}
    return StreamingHttpResponse(content, content_type=content_type, headers=headers)


def json_download(name: str, text: str) -> HttpResponse:
    headers = {**_PRIVATE, "Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="application/json", headers=headers)

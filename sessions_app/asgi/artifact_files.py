"""Files of a session as responses, streamed from Django's storage."""

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus

from django.db.models import Q
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from runtime.sessions.state import State
from sessions_app.asgi.problem_details import CODES, problem, refuse
from sessions_app.base.codec import is_storable
from sessions_app.errors import AlteredFileError, FilesUnavailableError, error_code, http_status
from sessions_app.models import Artifact, Session
from sessions_app.models.stored_files import available_files
from sessions_app.process.threads import download_threads, in_thread
from sessions_app.rendering.sentences import in_language
from sessions_app.store.file_types import BEGINNING, BINARY, INLINE_IMAGES, signed_type

CHUNK_BYTES = 256 * 1024
TEXT = "text/plain; charset=utf-8"
MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w-]+)?", re.ASCII)
# Line ends would end the header; marks of direction would make a program's name look like a picture's.
_UNSAFE_IN_HEADER = re.compile("[\x00-\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class _ByteRange:
    """Bytes of a file from `start` to before `end`. Empty if the file has none of the requested bytes."""

    start: int
    end: int


async def find_artifact(session: Session, filename: str, version: str) -> Artifact:
    """Return a version of a file of the session or its user.

    Args:
        version: number of the version, as it stands in the URL; empty for the newest.

    Raises:
        Http404: there is no such file or version.
    """
    if not is_storable(filename):  # such as a NUL, which PostgreSQL refuses
        raise Http404("There is no file of this name in this chat.")
    files = Artifact.objects.filter(
        Q(session=session) | Q(session=None),
        app_name=session.app_name,
        user_id=session.user_id,
        filename=filename,
    )
    if version:
        # Ten digits may exceed the column; no row has version -1.
        is_number = version.isdecimal() and len(version) < 10
        files = files.filter(version=int(version) if is_number else -1)
    row = await in_thread(files.order_by("-version").first)
    if row is None:
        raise Http404(f"There is no file {filename!r} in this chat.")
    return row


async def artifact_response(
    request: HttpRequest, row: Artifact, *, may_redirect: bool = False
) -> HttpResponseBase:
    """Return the bytes of an artifact, or 304 if the client has them.

    A request with `Range` gets 206 with the requested part, or 416. Browsers show images of `INLINE_IMAGES` and save
    all other files. A file that is not the stored one is refused; if all of it is asked for and it is larger than
    `CHUNK_BYTES`, the response ends before its last bytes.

    Args:
        may_redirect: answer with a redirection to the file store where this signs addresses, for a file to save.
    """
    try:
        return await _artifact_response(request, row, may_redirect)
    except FileNotFoundError:
        missing = gettext("The storage of the site does not have this file: somebody has deleted it there.")
        return await in_thread(refuse, request, HTTPStatus.NOT_FOUND, missing, CODES[HTTPStatus.NOT_FOUND])
    except (AlteredFileError, FilesUnavailableError) as error:
        sentence = in_language(str(error))
        return await in_thread(refuse, request, http_status(error), sentence, error_code(error))


async def _artifact_response(request: HttpRequest, row: Artifact, may_redirect: bool) -> HttpResponseBase:
    etag = f'"{row.sha256}"'
    if unchanged := get_conditional_response(request, etag=etag):
        return unchanged
    part = _requested_range(request, row.size, etag)
    if part is None:
        return await _response(row, etag, _ByteRange(0, row.size), may_redirect)
    if part.start == part.end:
        refusal = problem(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"The file has {row.size} bytes.", "range"
        )
        refusal["Content-Range"] = f"bytes */{row.size}"
        return refusal
    response = await _response(row, etag, part)
    response.status_code = HTTPStatus.PARTIAL_CONTENT
    response["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{row.size}"
    return response


async def _response(
    row: Artifact, etag: str, part: _ByteRange, may_redirect: bool = False
) -> StreamingHttpResponse | HttpResponseRedirect:
    mime_type = row.mime_type or TEXT
    if not MIME_TYPE.fullmatch(mime_type):
        mime_type = BINARY
    # A picture that the page shows comes from the site: the content security policy allows no other.
    if may_redirect and mime_type not in INLINE_IMAGES:
        kept = {"Content-Type": mime_type, "Content-Disposition": _disposition(row, as_attachment=True)}
        if url := await download_threads.run(_signed_url, row, kept):
            return HttpResponseRedirect(url, headers={"Cache-Control": "private, no-store"})
    pieces = _Pieces(row, part)
    await pieces.begin()
    # The type of a file is its sender's claim. Only what really begins like a picture is shown in the site's origin.
    is_picture = mime_type in INLINE_IMAGES and mime_type == pieces.signed_type
    if mime_type in INLINE_IMAGES and not is_picture:
        mime_type = BINARY
    headers = {
        "Content-Disposition": _disposition(row, as_attachment=not is_picture),
        "Content-Length": str(part.end - part.start),
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",  # Kept, and shown only after the site has allowed it again.
        "ETag": etag,
    }
    return StreamingHttpResponse(pieces, content_type=mime_type, headers=headers)


def _signed_url(row: Artifact, headers: dict[str, str]) -> str | None:
    """Return a signed address of the file; None if its storage signs none, or not for this file."""
    sign = getattr(row.file.storage, "signed_url", None)
    if sign is None:
        return None
    with available_files():
        url: str | None = sign(row.file.name, row.sha256, headers)
    return url


def _disposition(row: Artifact, *, as_attachment: bool) -> str:
    return content_disposition_header(as_attachment, header_name(row.filename)) or "attachment"


def header_name(filename: str) -> str:
    """Return the last part of a file's name, with `_` for each character that must not stand in a header."""
    name = filename.removeprefix(State.USER_PREFIX).rsplit("/", 1)[-1]
    return _UNSAFE_IN_HEADER.sub("_", name) or "file"


class _Pieces:
    """Pieces of a part of a file, read in threads of their own: slow downloads must not take those of the database.

    The last piece of a whole file comes only if the SHA-256 of all is that of the row. A smaller part comes only after
    the whole file was compared. Closed with its response.

    Attributes:
        signed_type: type by the first bytes of the file; None for a file without a known signature.
    """

    signed_type: str | None

    def __init__(self, row: Artifact, part: _ByteRange) -> None:
        self._row = row
        self._start = part.start
        self._left = part.end - part.start
        self._is_whole = part == _ByteRange(0, row.size)
        self._digest = hashlib.sha256()

    async def begin(self) -> None:
        """Read the first piece: an unreadable file must be reported before the response begins.

        Raises:
            AlteredFileError: the file is not the stored one.
            FilesUnavailableError: the storage does not answer.
        """
        self._first = await download_threads.run(self._open)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        while self._left:
            yield await download_threads.run(self._read)

    def close(self) -> None:
        self._row.file.close()

    def _open(self) -> bytes:
        with available_files():
            file = self._row.file.open("rb") if self._is_whole else self._row.open_compared()
            self.signed_type = signed_type(file.read(BEGINNING))
            file.seek(self._start)
        return self._read()

    def _read(self) -> bytes:
        with available_files():
            piece: bytes = self._row.file.read(min(CHUNK_BYTES, self._left))
        self._digest.update(piece)
        is_cut = not piece and self._left > 0
        self._left -= len(piece)
        is_altered = self._is_whole and not self._left and self._digest.hexdigest() != self._row.sha256
        if is_cut or is_altered or not self._left:
            self.close()
        if is_cut or is_altered:
            raise AlteredFileError
        return piece


def _requested_range(request: HttpRequest, size: int, etag: str) -> _ByteRange | None:
    """Return the part of a file in the header `Range` (RFC 9110, section 14); None for the whole file.

    Requests for several parts, and requests whose `If-Range` names another version, get the whole file.

    Args:
        size: bytes of the file.
        etag: entity tag of the current version of the file.
    """
    found = RANGE.fullmatch(request.headers.get("Range", ""))
    if not found or found[0] == "bytes=-" or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = found.groups()
    if not first:
        return _ByteRange(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    start = int(first)
    if start >= size:
        return _ByteRange(size, size)
    end = int(last) + 1 if last else size
    return _ByteRange(start, min(end, size))

"""LargeUpload: a file that is sent in chunks, as calls that either client sends."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import IO, Any

from pydantic import TypeAdapter

from adk_client.attempts import Attempts
from adk_client.calls import Call, Id, address_part
from adk_client.errors import ConflictError
from adk_client.models import StoredFile, UploadState

CHUNK_BYTES = 4 * 1024**2
TUS = {"Tus-Resumable": "1.0.0"}
STATE = TypeAdapter(UploadState)


class LargeUpload:
    """State of an upload between its calls.

    Args:
        attempts: attempts at one chunk.

    Attributes:
        file: the stored file; None until the site has all chunks.
    """

    def __init__(self, session_id: Id, name: str, source: IO[bytes], attempts: Attempts) -> None:
        self._session_id = session_id
        self._name = name
        self._source = source
        self._attempts = attempts
        self._length = source.seek(0, os.SEEK_END)
        self._address = ""  # Empty until the upload has begun.
        self._offset = self._chunk_end = 0  # Begin and end of the chunk that is sent next.
        self._must_ask = False
        self.file: StoredFile | None = None

    def call(self) -> Call[Any]:
        """Return the next call."""
        if not self._address:
            return self._beginning()
        return Call("GET", self._address, STATE) if self._must_ask else self._chunk()

    def take(self, result: UploadState | bytes) -> None:
        """Take the result of the call: the state of the upload, or nothing for a chunk that is stored."""
        if isinstance(result, UploadState):
            self._address = f"/resumable-uploads/{result.upload_id}"
            self.file = result.file
            is_further = result.offset > self._offset
            self._offset = result.offset
            self._must_ask = False
        else:
            is_further = True
            self._offset = self._chunk_end
            self._must_ask = self._offset >= self._length
        if is_further:
            self._attempts.note_success()

    def seconds_after(self, conflict: ConflictError) -> float:
        """Return the seconds to wait before the next call, which asks for the offset.

        A chunk whose response was lost has been stored already, or is being stored.

        Raises:
            ConflictError: the call was not that of a chunk, or there were too many attempts.
        """
        if not self._address or self._must_ask:
            raise conflict
        self._must_ask = True
        return self._attempts.seconds_after_conflict(conflict)

    def _beginning(self) -> Call[Any]:
        filename = b64encode(self._name.encode()).decode()
        headers = {**TUS, "Upload-Length": str(self._length), "Upload-Metadata": f"filename {filename}"}
        return Call(
            "POST", f"/sessions/{address_part(self._session_id)}/resumable-uploads", STATE, headers=headers
        )

    def _chunk(self) -> Call[Any]:
        self._source.seek(self._offset)
        chunk = self._source.read(CHUNK_BYTES)
        self._chunk_end = self._offset + len(chunk)
        headers = {
            **TUS,
            "Upload-Offset": str(self._offset),
            "Content-Type": "application/offset+octet-stream",
        }
        return Call("PATCH", self._address, None, content=chunk, headers=headers)

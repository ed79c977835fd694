"""Target of an export: a zip file or a directory, with the size and SHA-256 of each file."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Self
from zipfile import ZIP_DEFLATED, ZipFile

from sessions_app.asgi.artifact_files import CHUNK_BYTES
from sessions_app.errors import ConflictError

MANIFEST = "manifest.json"


class Archive:
    """Files below one target, each written as a stream of chunks and never held in memory.

    A path with the suffix `.zip` becomes a zip file, any other path a directory. Only its owner can read the target.
    `manifest.json`, the list of all other files, is written last: an archive without a manifest is incomplete.

    Raises:
        ConflictError: the target exists.
    """

    def __init__(self, target: Path) -> None:
        self.files: list[dict[str, Any]] = []
        self._target = target
        self._zip: ZipFile | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            if self._target.suffix == ".zip":
                # The mode is given at creation: with a later `chmod` others could open the file in between. O_EXCL:
                # no overwriting.
                descriptor = os.open(self._target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                raw = self._stack.enter_context(os.fdopen(descriptor, "wb"))
                self._zip = self._stack.enter_context(ZipFile(raw, "w", ZIP_DEFLATED))
            else:
                self._target.mkdir(mode=0o700)
        except FileExistsError as error:
            message = f"'{self._target}' exists already. Choose another target, or delete it first."
            raise ConflictError(message) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.write_json(MANIFEST, {"files": list(self.files)})
        finally:
            self._stack.close()

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file and list it."""
        digest = hashlib.sha256()
        size = 0
        with self._open(name) as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        self.files.append({"name": name, "size": size, "sha256": digest.hexdigest()})

    def write_json(self, name: str, value: Any) -> None:
        """Write a file with a JSON value."""
        self.write(name, [as_json(value)])

    def write_list(self, name: str, values: Iterable[Any]) -> None:
        """Write a file with a JSON list, value by value."""
        self.write(name, json_list(values))

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        if self._zip is not None:
            # The size of a stream is unknown when its header is written; without ZIP64 a file above 2 GiB would fail.
            with self._zip.open(name, "w", force_zip64=True) as member:
                yield member
            return
        path = self._target / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("xb") as file:
            yield file


def is_as_listed(archive: ZipFile, entry: Mapping[str, Any]) -> bool:
    """True if a file of an archive has the size and SHA-256 of its entry in the manifest."""
    digest = hashlib.sha256()
    left = entry["size"]
    with archive.open(entry["name"]) as file:
        # A small file may unpack to gigabytes: no more is read than one chunk after the size in the manifest.
        while left >= 0 and (chunk := file.read(CHUNK_BYTES)):
            digest.update(chunk)
            left -= len(chunk)
    return bool(left == 0 and digest.hexdigest() == entry["sha256"])


def as_json(value: Any) -> bytes:
    """Return the value as JSON. Values without a type in JSON, such as times and UUIDs, become text."""
    # A text may have lone surrogates, which UTF-8 refuses.
    return json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace")


def json_list(values: Iterable[Any]) -> Iterator[bytes]:
    """Yield the JSON of a list, a chunk for each value."""
    yield b"["
    for number, value in enumerate(values):
        separator = b",\n" if number else b"\n"
        yield separator + as_json(value)
    yield b"]\n"

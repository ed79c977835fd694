"""Artifacts referred to by messages, by answers and by results of tools (contracts F4, F5).

The log keeps references only. Each request loads the files again, the latest first, within limits of size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from runtime import types
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.artifacts.named_files import is_text
from runtime.valid_text import valid_text

MAX_BYTES = 14_000_000
"""Limit of the files of a request in bytes. Models refuse more than about 20 MB, and base64 adds a third."""
MAX_CHARACTERS = 200_000
"""Limit of a text file in a request, in characters."""
_SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
SCHEME = "artifact"
# Nine digits always fit a database's integer.
_MAX_VERSION_LENGTH = 9


@dataclass(frozen=True)
class ArtifactReference:
    """A version of an artifact without its bytes, in the session of the message that contains the reference."""

    filename: str
    version: int
    mime_type: str

    @property
    def uri(self) -> str:
        return f"{SCHEME}:{quote(self.filename, safe='')}?version={self.version}"

    def as_part(self) -> types.Part:
        return types.Part(file_data=types.FileData(file_uri=self.uri, mime_type=self.mime_type))

    @classmethod
    def of_uri(cls, uri: str, mime_type: str) -> "ArtifactReference | None":
        """Return the reference of a URI; None if the URI refers to another file."""
        if not uri.startswith(f"{SCHEME}:"):
            return None
        try:
            address = urlsplit(uri)
        except ValueError:
            # urlsplit refuses some texts, and a model may have written the URI.
            return None
        version = parse_qs(address.query).get("version", [""])[0]
        if not version.isdecimal() or len(version) > _MAX_VERSION_LENGTH:
            return None
        return cls(unquote(address.path), int(version), mime_type)

    @classmethod
    def of_part(cls, part: types.Part) -> "ArtifactReference | None":
        """Return the reference in a part; None for every other part."""
        if part.file_data is None:
            return None
        return cls.of_uri(part.file_data.file_uri or "", part.file_data.mime_type or "")


def is_shown(mime_type: str) -> bool:
    """Return True if a file of this type is shown to the model: images, PDF and text."""
    return mime_type in _SHOWN_TYPES or is_text(mime_type)


def positions_of_files(contents: Sequence[types.Content], first: int = 0) -> list[int]:
    """Return the positions of the contents with file parts; `first` is the position of the first content."""
    positions = []
    for position, content in enumerate(contents, first):
        if any(part.file_data is not None for part in content.parts or ()):
            positions.append(position)
    return positions


async def load_references(
    service: BaseArtifactService | None,
    args: SessionArgs,
    contents: Sequence[types.Content],
    with_files: Sequence[int],
) -> list[types.Content]:
    """Return copies of the contents with the referenced artifacts in place of the references.

    Images, PDF and text become parts with their data; other files are only named. A file in a model's content becomes
    one part, with the signature of the reference. Files of the latest contents come
    first. From the first file that does not fit into `MAX_BYTES` on, files are only named and not read.

    Args:
        with_files: `positions_of_files` of the contents.
    """
    loader = _Loader(service, args)
    loaded = list(contents)
    # Latest first: the limit of bytes should leave out old files.
    for position in reversed(with_files):
        loaded[position] = await loader.load(contents[position])
    return loaded


class _Loader:
    """Loads the files of a request, up to `MAX_BYTES` in total."""

    def __init__(self, service: BaseArtifactService | None, args: SessionArgs) -> None:
        self._service = service
        self._args = args
        self._bytes_left = MAX_BYTES

    async def load(self, content: types.Content) -> types.Content:
        """Return the content with its files, or the same object if it refers to none."""
        references = [ArtifactReference.of_part(part) for part in content.parts or []]
        if not any(references):
            return content
        parts: list[types.Part] = []
        for part, reference in zip(content.parts or [], references, strict=True):
            if reference is None:
                parts.append(part)
                continue
            shown = await self._load_parts(reference)
            if content.role == "model":
                # The model's own part, as it has sent it: with its signature, and without our introduction.
                update = {"file_data": None, "inline_data": shown[-1].inline_data, "text": shown[-1].text}
                shown = [part.model_copy(update=update)]
            parts += shown
        return content.model_copy(update={"parts": parts})

    async def _load_parts(self, reference: ArtifactReference) -> list[types.Part]:
        name = reference.filename
        mime_type = reference.mime_type
        if not is_shown(mime_type):
            return [_text(f"[The file {name!r} ({mime_type}) is an artifact of this name, not shown here.]")]
        if not self._bytes_left:
            return [_left_out(name)]
        data = await self._load(reference)
        if data is None:
            return [_text(f"[The file {name!r} does not exist any more.]")]
        text = _beginning(data) if is_text(mime_type) else ""
        size = len(valid_text(text).encode()) if text else len(data)
        if size > self._bytes_left:
            self._bytes_left = 0  # A long session may have hundreds of files: read no more of them.
            return [_left_out(name)]
        self._bytes_left -= size
        if is_text(mime_type):
            return [_text(f"The file {name!r}:\n{text}")]
        return [_text(f"The file {name!r}:"), types.Part.from_bytes(data=data, mime_type=mime_type)]

    async def _load(self, reference: ArtifactReference) -> bytes | None:
        if self._service is None:
            return None
        artifact = await self._service.load_artifact(
            **self._args, filename=reference.filename, version=reference.version
        )
        if artifact is None:
            return None
        if artifact.inline_data:
            return artifact.inline_data.data or b""
        return valid_text(artifact.text or "").encode()


def _beginning(data: bytes) -> str:
    text = data.decode(errors="replace")
    if len(text) <= MAX_CHARACTERS:
        return text
    more = len(text) - MAX_CHARACTERS
    return f"{text[:MAX_CHARACTERS]}\n[{more} more characters are in the artifact.]"


def _left_out(name: str) -> types.Part:
    return _text(f"[The file {name!r} is an artifact of this name, not shown here.]")


def _text(text: str) -> types.Part:
    return types.Part(text=text)

"""ArtifactReference: a part of a message that names a version of an artifact, without its bytes (contract F4)."""

from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from runtime import types

SCHEME = "artifact"
# Nine digits always fit a database's integer.
_MAX_VERSION_LENGTH = 9


@dataclass(frozen=True)
class ArtifactReference:
    """A version of an artifact, in the session of the message that contains the reference."""

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

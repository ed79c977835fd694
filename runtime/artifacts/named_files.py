"""Files made by models, tools and remote agents, with names and types that artifacts can have."""

import mimetypes
import re
from typing import NamedTuple

from runtime import types

_UNKNOWN_TYPE = "application/octet-stream"
_MIME_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_NOT_IN_A_FILE_NAME = re.compile(r"[^\w.() -]")
_MAX_NAME_LENGTH = 100
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


class NamedFile(NamedTuple):
    """A file to be saved as an artifact.

    Attributes:
        part: content of the artifact.
    """

    name: str
    mime_type: str
    part: types.Part


def named_file(blob: types.Blob, default_name: str) -> NamedFile:
    """Return the file under its display name.

    Args:
        default_name: name for a blob without a name, without extension.
    """
    mime_type = valid_mime_type(blob.mime_type)
    name = valid_file_name(blob.display_name)
    if not name:
        name = f"{default_name}{mimetypes.guess_extension(mime_type) or '.bin'}"
    # Without the display name: Gemini refuses requests that carry it.
    return NamedFile(name, mime_type, types.Part.from_bytes(data=blob.data or b"", mime_type=mime_type))


def name_prefix(maker: str, made_in: str | None) -> str:
    """Return the beginning of the names of files without a name.

    Args:
        maker: name of the tool or agent.
        made_in: id of the call or event. Its end keeps the files of several calls apart.
    """
    return f"{maker}-{(made_in or '')[-8:]}"


def valid_mime_type(mime_type: str | None) -> str:
    """Return the type in lower case and without parameters; `application/octet-stream` for any other text."""
    bare = (mime_type or "").partition(";")[0].strip().lower()
    return bare if _MIME_TYPE.fullmatch(bare) else _UNKNOWN_TYPE


def valid_file_name(display_name: str | None) -> str:
    """Return the name with `_` for characters that may mean a folder or a scope; its end, if it is too long."""
    return _NOT_IN_A_FILE_NAME.sub("_", display_name or "")[-_MAX_NAME_LENGTH:]


def is_text(mime_type: str) -> bool:
    """Return True if a file of this type is read as text."""
    return mime_type.startswith("text/") or mime_type in _TEXT_TYPES or mime_type.endswith(("+json", "+xml"))

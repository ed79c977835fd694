"""MIME types of files by their first bytes: the name and the browser may claim any type."""

import codecs
import mimetypes

from runtime.artifacts.named_files import is_text

INLINE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
BINARY = "application/octet-stream"
BEGINNING = 4096
"""Number of bytes to read from a file to decide its type."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)
_FURTHER_TYPES = {".md": "text/markdown", ".yaml": "application/yaml", ".yml": "application/yaml"}


def signed_type(beginning: bytes) -> str | None:
    """Return the type by the signature of the bytes: an image for browsers, or PDF; None for other files."""
    if beginning[:4] == b"RIFF" and beginning[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if beginning.startswith(signature)), None)


def detect_type(filename: str, beginning: bytes) -> str:
    """Return the type of a file: by its signature, else by its name unless the bytes contradict the name."""
    signed = signed_type(beginning)
    if signed:
        return signed
    named = named_type(filename)
    if named in INLINE_IMAGES or named == PDF or named is None or is_text(named):
        # The name claims a type with a signature, or text, and the bytes have no signature: text, or unknown bytes.
        if not _is_utf8(beginning):
            return BINARY
        return named if named and is_text(named) else "text/plain"
    return named


def named_type(filename: str) -> str | None:
    """Return the type for the extension of the name; None for an unknown extension."""
    suffix = f".{filename.rpartition('.')[2].lower()}"
    return _FURTHER_TYPES.get(suffix) or mimetypes.guess_type(filename)[0]


def _is_utf8(beginning: bytes) -> bool:
    """Return True for UTF-8 text without NUL."""
    try:
        # Incremental: the last character may be cut.
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning[:BEGINNING])
    except UnicodeDecodeError:
        return False
    return "\0" not in text

"""File types that users and models read as text."""

_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


def is_text(mime_type: str) -> bool:
    """Return True if a file of this type is read as text."""
    return mime_type.startswith("text/") or mime_type in _TEXT_TYPES or mime_type.endswith(("+json", "+xml"))

"""References (`$ref`) within an OpenAPI document.

`as_object`, `as_list` and `as_text` read untrusted documents: a value of another type counts as absent, so malformed
parts of a document are left out and do not make the rest unusable.
"""

from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]
_MAX_DIGITS = 9
"""Digits of a key or index; Python refuses to read numbers of thousands."""


class UnresolvedReferenceError(ValueError):
    """A reference leads outside the document, to nothing, or back to itself."""


class References:
    """Targets of the references in a document."""

    def __init__(self, document: Json) -> None:
        self._document = document

    def resolve(self, node: object) -> Json:
        """Return the node, with its `$ref` replaced by the target. Fields next to `$ref` override the target's fields.

        Raises:
            UnresolvedReferenceError: the target does not exist.
        """
        resolved = as_object(node)
        followed: list[str] = []
        while isinstance(resolved.get("$ref"), str):
            beside = dict(resolved)
            reference = beside.pop("$ref")
            if reference in followed:
                raise UnresolvedReferenceError(f"The reference {reference!r} leads back to itself.")
            followed.append(reference)
            resolved = {**self._target(reference), **beside}
        return resolved

    def _target(self, reference: str) -> Json:
        path, separator, pointer = reference.partition("#/")
        if path or not separator:
            raise UnresolvedReferenceError(
                f"The reference {reference!r} leads outside the document. Bundle the spec into one file."
            )
        node: object = self._document
        for step in pointer.split("/"):
            node = _child(node, unquote(step).replace("~1", "/").replace("~0", "~"))
        if not isinstance(node, dict):
            raise UnresolvedReferenceError(f"The reference {reference!r} leads to nothing.")
        return node


def as_object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _child(node: object, step: str) -> object:
    if isinstance(node, dict) and step in node:
        return node[step]
    if not step.isdecimal() or len(step) > _MAX_DIGITS:
        return None
    if isinstance(node, dict):  # A key of YAML may be a number.
        return node.get(int(step))
    if isinstance(node, list) and int(step) < len(node):
        return node[int(step)]
    return None

"""Schemas of parameters in one spelling: google-adk sends JSON schemas, `runtime` the subset that Gemini accepts."""

from __future__ import annotations

import re
from typing import Any

OWN_TEXT = re.compile(r"«[^»]*»")
"""A text that a program wrote; framework sentences around it are not compared."""

_ANYTHING = ["array", "boolean", "number", "object", "string"]


def comparable_schema(schema: Any) -> Any:
    """Return the schema without references, titles, value types of dicts and the package's own descriptions."""
    return _Schema(schema.get("$defs", {})).convert(schema)


class _Schema:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions

    def convert(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return self.convert({**self._definitions[node["$ref"].removeprefix("#/$defs/")], **_beside(node)})
        branches = node.get("anyOf") or node.get("any_of")
        if branches:
            return self._union([self.convert({**branch, **_beside(node)}) for branch in branches])
        fields = {
            key: value for key, value in node.items() if key in ("enum", "required", "default", "format")
        }
        if "const" in node:
            fields["enum"] = [node["const"]]
        if "type" not in node:
            fields.pop("default", None)  # `runtime` cannot declare it: Gemini refuses fields beside a union.
        fields["type"] = str(node["type"]).lower() if "type" in node else None
        fields["description"] = OWN_TEXT.findall(node.get("description", ""))
        fields["nullable"] = node.get("nullable")
        fields["items"] = self.convert(node.get("items"))
        fields["properties"] = {key: self.convert(value) for key, value in node.get("properties", {}).items()}
        return {key: value for key, value in fields.items() if value not in (None, [], {})}

    def _union(self, branches: list[dict[str, Any]]) -> dict[str, Any]:
        non_null = [branch for branch in branches if branch["type"] != "null"]
        null = {"nullable": True} if len(non_null) < len(branches) else {}
        if len(non_null) == 1:
            return {**non_null[0], **null}
        if sorted(branch.get("type", "") for branch in non_null) == _ANYTHING:
            return null
        return {"any_of": non_null, **null}


def _beside(node: dict[str, Any]) -> dict[str, Any]:
    return {key: node[key] for key in ("default", "description") if key in node}

"""Labels of a session for the filters of lists. One GIN index serves every combination of labels."""

from __future__ import annotations

AGENT, TOOL, OUTCOME = "agent", "tool", "outcome"
MAX_LABELS = 200


def label(kind: str, name: str) -> str:
    """Return a label, such as `tool:refund`."""
    return f"{kind}:{name}"


def names_of(kind: str, labels: list[str]) -> list[str]:
    return [one.removeprefix(f"{kind}:") for one in labels if one.startswith(f"{kind}:")]

"""Labels of a session, by which lists are filtered. One index serves every combination of labels."""

from __future__ import annotations

AGENT, TOOL, OUTCOME = "agent", "tool", "outcome"
MAX_LABELS = 200


def label(kind: str, name: str) -> str:
    """Return a label, such as `tool:refund`."""
    return f"{kind}:{name}"


def names_of(kind: str, labels: list[str]) -> list[str]:
    """Return the names of the labels of one kind."""
    return [one.removeprefix(f"{kind}:") for one in labels if one.startswith(f"{kind}:")]

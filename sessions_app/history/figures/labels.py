"""Labels of a session for the filters of lists. One GIN index serves every combination of labels."""

AGENT, TOOL, OUTCOME = "agent", "tool", "outcome"
MAX_LABELS = 200


def label(kind: str, name: str) -> str:
    """Return a label, such as `tool:refund`."""
    return f"{kind}:{name}"


def names_of(kind: str, labels: list[str]) -> list[str]:
    return [name.removeprefix(f"{kind}:") for name in labels if name.startswith(f"{kind}:")]

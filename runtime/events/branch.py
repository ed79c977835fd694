"""Branch names: `parent.child`, who sees what in a parallel run (spec A5, Q9)."""

from __future__ import annotations


def child_of(branch: str | None, parent: str, child: str) -> str:
    """The branch of `child` running in parallel below `parent`, itself on `branch`."""
    name = f"{parent}.{child}"
    return f"{branch}.{name}" if branch else name


def is_visible_from(branch: str | None, event_branch: str | None) -> bool:
    """Whether an event on `event_branch` is seen from `branch`: on it or above it."""
    if not branch or not event_branch:
        return True
    return branch == event_branch or branch.startswith(f"{event_branch}.")

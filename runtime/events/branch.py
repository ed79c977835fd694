"""Branch names (`parent.child`) and the visibility of events between parallel agents (contract A5, Q9).

An agent sees the events of its branch and of the branches above, but not of parallel or inner branches.
"""


def child_of(branch: str | None, parent: str, child: str) -> str:
    """Return the branch of `child`, which runs in parallel below `parent`, an agent on `branch`."""
    name = f"{parent}.{child}"
    return f"{branch}.{name}" if branch else name


def is_visible_from(branch: str | None, event_branch: str | None) -> bool:
    """Return True if `event_branch` is `branch` or an ancestor of it, or when either is None."""
    if not branch or not event_branch:
        return True
    # With the dot, because `a.b` is not above `a.bc`.
    return branch == event_branch or branch.startswith(f"{event_branch}.")

"""Public path; defined in `runtime.context`."""

from runtime.context import ReadonlyContext

__all__ = ["ReadonlyContext"]

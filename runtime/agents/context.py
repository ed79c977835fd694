"""Public path; defined in `runtime.context`."""

from runtime.context import Context, ReadonlyContext

__all__ = ["Context", "ReadonlyContext"]

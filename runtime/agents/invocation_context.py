"""Public path; defined in `runtime.context`."""

from runtime.context import InvocationContext

__all__ = ["InvocationContext"]

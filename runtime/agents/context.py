"""Public path; defined in `runtime.context`."""

from runtime.context import Context

__all__ = ["Context"]

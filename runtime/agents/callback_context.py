"""Public path; defined in `runtime.context`."""

from runtime.context import Context, ReadonlyContext
from runtime.context import Context as CallbackContext

__all__ = ["CallbackContext", "Context", "ReadonlyContext"]

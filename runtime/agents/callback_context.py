"""Public path; defined in `runtime.context`."""

from runtime.context import Context as CallbackContext
from runtime.context import ReadonlyContext

__all__ = ["CallbackContext", "ReadonlyContext"]

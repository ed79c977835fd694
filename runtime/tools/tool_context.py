"""Public import path of the contexts; defined in `runtime.context`."""

from runtime.auth.auth_tool import AuthConfig
from runtime.context import Context
from runtime.context import Context as CallbackContext
from runtime.context import Context as ToolContext

__all__ = ["AuthConfig", "CallbackContext", "Context", "ToolContext"]

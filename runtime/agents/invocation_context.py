"""Public path; defined in `runtime.context` and `runtime.errors`."""

from runtime.context import InvocationContext
from runtime.context import new_invocation_id as new_invocation_context_id
from runtime.errors import LlmCallsLimitExceededError

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_context_id"]

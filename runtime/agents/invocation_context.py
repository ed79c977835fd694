"""Public path; defined elsewhere. google-adk offers the types of the fields, too."""

from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.context import InvocationContext
from runtime.context import new_invocation_id as new_invocation_context_id
from runtime.errors import LlmCallsLimitExceededError
from runtime.run_config import RunConfig
from runtime.sessions.session import Session

__all__ = [
    "ContextCacheConfig",
    "InvocationContext",
    "LlmCallsLimitExceededError",
    "RunConfig",
    "Session",
    "new_invocation_context_id",
]

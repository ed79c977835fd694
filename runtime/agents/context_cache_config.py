"""Public path; defined in `runtime.models.llm_request`."""

from runtime.models.llm_request import ContextCacheConfig

__all__ = ["ContextCacheConfig"]

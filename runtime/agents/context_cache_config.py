"""Public path; defined in `runtime.models.context_cache_config`."""

from runtime.models.context_cache_config import ContextCacheConfig

__all__ = ["ContextCacheConfig"]

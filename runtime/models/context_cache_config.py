"""ContextCacheConfig: settings for caching an app's contents at the model's provider."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ContextCacheConfig(BaseModel):
    """Settings of an app for providers that cache contents.

    Attributes:
        cache_intervals: number of requests that may use a cached context before it is replaced.
        ttl_seconds: time for which the provider keeps a cached context.
        min_tokens: minimum size of a cached context, estimated from its bytes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cache_intervals: int = Field(default=10, ge=1, le=100)
    ttl_seconds: int = Field(default=1800, gt=0)
    min_tokens: int = Field(default=0, ge=0)

"""App: a named root agent with its plugins and settings."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.plugins.base_plugin import BasePlugin


class ResumabilityConfig(BaseModel):
    """Whether an interrupted invocation can be continued, and long-running calls pause it (spec R1, T5)."""

    is_resumable: bool = False


class App(BaseModel):
    """What a Runner runs.

    Attributes:
        name: the `app_name` of its sessions: letters, digits, underscores and hyphens.
        plugins: asked in this order, before any agent's own callbacks.
        context_cache_config: how the provider may cache what is sent; None leaves it to the provider.

    Raises:
        ValueError: the name is not allowed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    root_agent: BaseAgent
    plugins: list[BasePlugin] = Field(default_factory=list)
    resumability_config: ResumabilityConfig | None = None
    context_cache_config: ContextCacheConfig | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name.replace("-", "_").isidentifier() or name == "user":
            raise ValueError(
                f"App name {name!r} is not allowed: use letters, digits, underscores and hyphens."
            )
        return name

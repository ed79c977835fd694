"""App: a named root agent with its plugins and settings."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.plugins.base_plugin import BasePlugin


class ResumabilityConfig(BaseModel):
    """Whether an interrupted invocation can be continued, and long-running calls pause it (spec R1, T5)."""

    is_resumable: bool = False


class EventsCompactionConfig(BaseModel):
    """When old events are summed up, so that the model is sent the summary instead (spec R4).

    Attributes:
        compaction_interval: after so many invocations that no summary stands for.
        overlap_size: so many invocations before them are shown to the summarizer once more.
        token_threshold: or when the latest request was at least so many tokens long.
        event_retention_size: with the threshold: so many of the latest events stay as they are.
        summarizer: who sums up; None is the model of the app's first LLM agent.

    Raises:
        ValueError: a number is out of range; one of the two last numbers comes without the other.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    compaction_interval: int = Field(gt=0)
    overlap_size: int = Field(ge=0)
    token_threshold: int | None = Field(default=None, gt=0)
    event_retention_size: int | None = Field(default=None, ge=0)
    summarizer: BaseEventsSummarizer | None = None

    @model_validator(mode="after")
    def _check_tokens(self) -> Self:
        if (self.token_threshold is None) != (self.event_retention_size is None):
            raise ValueError(
                "token_threshold and event_retention_size go together: set both of them, or neither."
            )
        return self


class App(BaseModel):
    """What a Runner runs.

    Attributes:
        name: the `app_name` of its sessions: letters, digits, underscores and hyphens.
        plugins: asked in this order, before any agent's own callbacks.
        events_compaction_config: when old events are summed up; None is never.
        context_cache_config: how the provider may cache what is sent; None leaves it to the provider.

    Raises:
        ValueError: the name is not allowed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    root_agent: BaseAgent
    plugins: list[BasePlugin] = Field(default_factory=list)
    events_compaction_config: EventsCompactionConfig | None = None
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

"""App: a named root agent with plugins and settings. A Runner runs an app."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from runtime.agents.base_agent import BaseAgent
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.plugins.base_plugin import BasePlugin


class ResumabilityConfig(BaseModel):
    """Settings for resuming interrupted invocations (contract R1, T5).

    Attributes:
        is_resumable: True to make agents record their progress and long-running calls pause the invocation.
    """

    model_config = ConfigDict(extra="forbid")

    is_resumable: bool = False


class EventsCompactionConfig(BaseModel):
    """Settings of compaction: the model gets a summary in place of old events (contract R4).

    Attributes:
        compaction_interval: number of unsummarized invocations to make a summary due.
        overlap_size: number of already summarized invocations to show to the summarizer again.
        token_threshold: prompt length of the latest request, in tokens, to make a summary due as well.
        event_retention_size: number of latest events to leave out of a summary due to the threshold.
        summarizer: summarizer of events; None: the model of the app's first LLM agent.

    Raises:
        ValueError: a number is out of range, or `token_threshold` and `event_retention_size` are not set together.
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


def validate_app_name(name: str) -> None:
    """Check the name of an app.

    Raises:
        ValueError: the name is not allowed.
    """
    if name == "user":
        raise ValueError(
            "Invalid app name 'user': it is the author of a person's events. Choose another one."
        )
    if not name.replace("-", "_").isidentifier():
        raise ValueError(f"Invalid app name {name!r}: use letters, digits, underscores and hyphens.")


class App(BaseModel):
    """Root agent with plugins and settings.

    Attributes:
        name: the `app_name` of its sessions: letters, digits, underscores and hyphens.
        plugins: plugins, asked in this order, before any agent's own callbacks.
        events_compaction_config: settings of compaction; None: events are never summarized.
        resumability_config: settings for resuming; None: the app is not resumable.
        context_cache_config: settings of the provider's context cache; None leaves caching to the provider.

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

    @property
    def is_resumable(self) -> bool:
        """Return True if interrupted invocations of the app can be resumed (contract R1)."""
        if self.resumability_config is not None and self.resumability_config.is_resumable:
            return True
        return any(agent.always_resumes for agent in (self.root_agent, *self.root_agent.descendants()))

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        validate_app_name(name)
        return name

"""RetryConfig: when a failed node runs again."""

import random

from pydantic import BaseModel, ConfigDict, Field, field_validator


class RetryConfig(BaseModel):
    """Settings for running a failed node again.

    Attributes:
        max_attempts: maximum number of attempts, including the first.
        initial_delay: seconds before the second attempt.
        max_delay: maximum seconds between two attempts.
        backoff_factor: factor by which each delay is longer than the one before.
        jitter: largest random change of a delay, as a part of it; 0 for none.
        exceptions: exceptions, or names of their classes, that lead to another attempt; None for all.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    max_attempts: int = Field(default=5, ge=0)
    initial_delay: float = Field(default=1.0, ge=0)
    max_delay: float = Field(default=60.0, ge=0)
    backoff_factor: float = Field(default=2.0, ge=0)
    jitter: float = Field(default=1.0, ge=0)
    exceptions: list[str] | None = None

    @field_validator("max_attempts", "initial_delay", "max_delay", "backoff_factor", "jitter", mode="before")
    @classmethod
    def _default_for_none(cls, value: object, info: object) -> object:
        # google-adk writes None for its defaults.
        return cls.model_fields[info.field_name].default if value is None else value  # type: ignore[attr-defined]

    @field_validator("exceptions", mode="before")
    @classmethod
    def _name_exceptions(cls, exceptions: object) -> object:
        if not isinstance(exceptions, list | tuple):
            return exceptions
        return [kind.__name__ if isinstance(kind, type) else kind for kind in exceptions]

    def delay_after(self, failed_attempts: int, error: Exception) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none."""
        if failed_attempts >= self.max_attempts or not self._concerns(error):
            return None
        # The exponent is bounded: a large one overflows, long after the delay has reached its maximum.
        factor = self.backoff_factor ** min(failed_attempts - 1, 64)
        # `max_delay` bounds the delay with its jitter.
        delay = min(self.initial_delay * factor, self.max_delay / (1 + self.jitter))
        return max(0.0, delay * (1 + random.uniform(-self.jitter, self.jitter)))  # noqa: S311  # no secret

    def _concerns(self, error: Exception) -> bool:
        if self.exceptions is None:
            return True
        # The classes above, too: a ConnectionError is an OSError.
        return any(kind.__name__ in self.exceptions for kind in type(error).__mro__)

"""The error tree of the runtime: a class's docstring is its default message."""

from __future__ import annotations

import inspect


class AdkError(Exception):
    """The agent runtime could not go on."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)) or type(self).__name__)


class ConfigurationError(AdkError, ValueError):
    """An agent, tool or app is declared in a way that cannot work."""


class SessionNotFoundError(AdkError, ValueError):
    """There is no such session. Create it with `create_session` first."""


class AlreadyExistsError(AdkError, ValueError):
    """Something with this id exists already."""


class StaleSessionError(AdkError, ValueError):
    """Someone else wrote to the session meanwhile. Load it again with `get_session`."""


class InvocationNotFoundError(AdkError, ValueError):
    """The session has no such invocation."""


class NestedRunError(AdkError, RuntimeError):
    """Code of an invocation wants to run another one in the same session, which would wait for itself."""


class StateValueError(AdkError, ValueError):
    """A state value cannot be stored as JSON."""


class ToolNotFoundError(AdkError, ValueError):
    """The model called a tool that the agent does not have."""


class InvalidAnswerError(AdkError, ValueError):
    """An answer to a question of the framework cannot be read."""


class LlmCallsLimitExceededError(AdkError):
    """The invocation made as many model calls as its `RunConfig.max_llm_calls` allows."""


class StrayCancellationError(AdkError):
    """What was awaited had been cancelled, by somebody who did not mean this invocation."""


class PluginError(AdkError, RuntimeError):
    """A plugin raised in one of its hooks."""


class ToolsetError(AdkError, RuntimeError):
    """A toolset could not be closed."""


class ModelError(AdkError):
    """The model could not answer (spec E7).

    Attributes:
        code: the provider's status, for example `RESOURCE_EXHAUSTED`.
        message: a sentence that a person can read.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

"""The error tree of the runtime: a class's docstring is its default message."""

import inspect


class AdkError(Exception):
    """The agent runtime failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)) or type(self).__name__)


def with_article(noun: str) -> str:
    """Return a noun, such as the name of a type, with its article for a message: "an int", "a str"."""
    article = "an" if noun[:1].lower() in tuple("aeiou") else "a"
    return f"{article} {noun}"


def how_to_install(extra: str) -> str:
    """Return what to do where the packages of an extra are missing: in a checkout, and in a project with the wheel."""
    return f"pip install -r requirements-{extra}.txt, or the extra {extra!r} of django-adk-runtime"


class ConfigurationError(AdkError, ValueError):
    """An agent, tool or app is not configured correctly."""


class SessionNotFoundError(AdkError, ValueError):
    """The session does not exist. Create it with `create_session` first."""


class AlreadyExistsError(AdkError, ValueError):
    """An object with this id already exists."""


class StaleSessionError(AdkError, ValueError):
    """Another writer changed the session. google-adk's name, for code that catches it; never raised here."""


class InvocationNotFoundError(AdkError, ValueError):
    """The session has no such invocation."""


class NestedRunError(AdkError, RuntimeError):
    """An invocation cannot run another invocation in its session: both would wait for each other."""


class StateValueError(AdkError, ValueError):
    """A state value cannot be stored as JSON."""


class ToolNotFoundError(AdkError, ValueError):
    """The model called a tool that the agent does not have."""


class InvalidMessageError(AdkError, ValueError):
    """A message of the user is no content, or answers a call that the session does not have."""


class UnknownCallError(InvalidMessageError):
    """A message answers a call that the session does not have."""


class InvalidAnswerError(AdkError, ValueError):
    """An answer to a request of the framework cannot be read, or does not fit what was asked."""


class LlmCallsLimitExceededError(AdkError):
    """The invocation has reached the number of model calls that `RunConfig.max_llm_calls` allows."""


class StrayCancellationError(AdkError):
    """An awaited task was cancelled, although this invocation was not."""


class BaseExceptionError(AdkError):
    """Code of an agent raised a `BaseException` that is no `Exception`, such as `SystemExit`."""


class PluginError(AdkError, RuntimeError):
    """A plugin raised in one of its hooks."""


class EvaluationError(AdkError, ValueError):
    """The agent cannot be evaluated."""


class ToolsetError(AdkError, RuntimeError):
    """A toolset could not be closed."""


class ModelError(AdkError):
    """The model could not answer (contract E7).

    Attributes:
        code: the provider's status name, for example `RESOURCE_EXHAUSTED`.
        message: a sentence for the user, without the provider's text.
        detail: the provider's text, for staff.
    """

    def __init__(self, code: str, message: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail or message}")
        self.code = code
        self.message = message
        self.detail = detail

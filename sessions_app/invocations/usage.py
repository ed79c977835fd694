"""Usage of an invocation: tokens, cost and model calls, compared with their limits."""

from collections.abc import Iterable

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.events.calls import FRAMEWORK_CALLS
from runtime.events.event import Event as RuntimeEvent
from sessions_app.conf import Conf
from sessions_app.errors import LimitExceededError
from sessions_app.history.costs import cost_of, tokens_of
from sessions_app.store.sql.usage import Used


class InvocationUsage:
    """Sum of the tokens and the cost of an invocation's events.

    Args:
        before: events of an earlier attempt, counted without a check.
    """

    def __init__(self, conf: Conf, before: Iterable[RuntimeEvent] = ()) -> None:
        self._conf = conf
        self._tokens = 0
        self._cost = 0.0
        self._unfinished: dict[str, RuntimeEvent] = {}
        for event in before:
            self._add(event)

    def add(self, event: RuntimeEvent) -> None:
        """Add an event.

        Raises:
            LimitExceededError: the invocation exceeds a limit and is not complete.
        """
        self._unfinished.pop(event.id, None)
        # A final response may exceed a limit: the invocation ends with it, and stopping would only lose the answer.
        exceeded = self._find_exceeded_limit()
        self._add(event)
        if not event.is_final_response():
            exceeded = self._find_exceeded_limit()
        elif event.usage_metadata is None:
            exceeded = None
        if exceeded:
            raise exceeded

    def note_partial(self, event: RuntimeEvent) -> None:
        """Keep the newest usage of a streamed answer, to count it if the answer is stopped before its end."""
        if event.usage_metadata:
            self._unfinished[event.id] = event

    @property
    def used(self) -> Used:
        """The sum so far, including the newest usage of unfinished answers."""
        unfinished = self._unfinished.values()
        tokens = sum(map(tokens_of, unfinished))
        return Used(
            self._tokens + tokens, self._cost + sum(cost_of(event, self._conf) for event in unfinished)
        )

    def _find_exceeded_limit(self) -> LimitExceededError | None:
        conf = self._conf
        if conf.invocation_tokens and self._tokens > conf.invocation_tokens:
            return LimitExceededError(
                f"This used more than {conf.invocation_tokens} tokens, so it was stopped. Ask for less at once."
            )
        if conf.invocation_cost and self._cost > conf.invocation_cost:
            return LimitExceededError(
                f"This cost more than {conf.invocation_cost:g}, so it was stopped. Ask for less at once."
            )
        return None

    def _add(self, event: RuntimeEvent) -> None:
        self._tokens += tokens_of(event)
        self._cost += cost_of(event, self._conf)


def model_calls(root: BaseAgent, events: Iterable[RuntimeEvent]) -> int:
    """Return the number of model calls behind the events, without interrupted calls, which left no event."""
    return sum(
        _is_model_response(event) and isinstance(root.find_agent(event.author), LlmAgent) for event in events
    )


def _is_model_response(event: RuntimeEvent) -> bool:
    """Return True for an answer or error of a model, not for function responses and calls of the framework."""
    if event.content is None:
        return event.error_code is not None
    called = {call.name for call in event.get_function_calls()}
    return not event.get_function_responses() and not called & FRAMEWORK_CALLS

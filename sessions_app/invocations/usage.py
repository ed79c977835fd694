"""What an invocation uses: tokens, money and model calls, and whether that is more than it may."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.events.calls import FRAMEWORK_CALLS
from runtime.events.event import Event
from sessions_app.conf import Conf
from sessions_app.errors import LimitExceededError

PER_MILLION = 1e-6


class Spending:
    """Adds up what the events of one invocation tell of their use.

    Args:
        before: events of an earlier attempt.
    """

    def __init__(self, conf: Conf, before: Iterable[Event] = ()) -> None:
        self._conf = conf
        self._tokens = 0
        self._cost = 0.0
        for event in before:
            self._add(event)

    def add(self, event: Event) -> None:
        """Count an event in. An answer may exceed a limit, if it is the last one.

        Raises:
            LimitExceededError: the invocation used more than it may, and it would go on.
        """
        before = self._excess()
        self._add(event)
        excess = (event.usage_metadata and before) if event.is_final_response() else self._excess()
        if excess:
            raise LimitExceededError(f"This {excess}, so it was stopped. Ask for less at once.")

    def _excess(self) -> str | None:
        """What is more than the invocation may."""
        conf = self._conf
        if conf.invocation_tokens and self._tokens > conf.invocation_tokens:
            return f"used more than {conf.invocation_tokens} tokens"
        if conf.invocation_cost and self._cost > conf.invocation_cost:
            return f"cost more than {conf.invocation_cost:g}"
        return None

    def _add(self, event: Event) -> None:
        self._tokens += (event.usage_metadata.total_token_count or 0) if event.usage_metadata else 0
        self._cost += cost_of(event, self._conf)


def cost_of(event: Event, conf: Conf) -> float:
    """What the model call behind an event cost; 0.0 for a model without a price."""
    usage = event.usage_metadata
    price = conf.price(event.model_version or "") if usage else None
    if usage is None or price is None:
        return 0.0
    cached = usage.cached_content_token_count or 0
    fresh = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - cached
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    for_cached = price.input if price.cached_input is None else price.cached_input
    return PER_MILLION * (fresh * price.input + cached * for_cached + written * price.output)


def model_calls(root: BaseAgent, events: Iterable[Event]) -> int:
    """How often the events' agents have asked their models; a call that was cut off left no event."""
    return sum(
        _is_of_model(event) and isinstance(root.find_agent(event.author), LlmAgent) for event in events
    )


def _is_of_model(event: Event) -> bool:
    """Whether it is what a model answered, be it an error: no result of a tool, and no question of the framework."""
    if event.content is None:
        return event.error_code is not None
    called = {call.name for call in event.get_function_calls()}
    return not event.get_function_responses() and not called & FRAMEWORK_CALLS

"""The contract of a planner (spec A2)."""

from __future__ import annotations

import abc

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.models.llm_request import LlmRequest


class BasePlanner(abc.ABC):
    """Asked twice in a step: before the model is, and when it has answered."""

    @abc.abstractmethod
    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str | None:
        """A paragraph for the system instruction, or None. The request, but for its contents, may be changed.

        Contents are shared between requests: put changed copies into a new `llm_request.contents`.
        """

    @abc.abstractmethod
    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """The parts to go on with in place of the model's, or None to keep those.

        Called for whole responses, after the `after_model` callbacks; partial responses stay as they come. What is
        written to the state goes with the response's event.
        """

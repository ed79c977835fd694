"""The contract of a planner (contract A2)."""

import abc

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.context import Context as CallbackContext  # noqa: F401  # programs import it from here
from runtime.models.llm_request import LlmRequest


class BasePlanner(abc.ABC):
    """Planner, called twice in a step: before the model call and after it."""

    @abc.abstractmethod
    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str | None:
        """Return a paragraph for the system instruction, or None. May change the request in place.

        Requests share content objects: assign a new list with changed copies to `llm_request.contents`.
        """

    @abc.abstractmethod
    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Return new parts for the model's response, or None to keep the model's parts.

        Called for whole responses only, after the `after_model` callbacks. State changes are recorded in the event of
        the response.
        """

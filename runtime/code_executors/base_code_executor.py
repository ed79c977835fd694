"""The contract of a code executor."""

from __future__ import annotations

import abc

from runtime.models.llm_request import LlmRequest


class BaseCodeExecutor(abc.ABC):
    """Lets a model run code. A response that ends with a result of it keeps the agent's turn going (spec E4)."""

    @abc.abstractmethod
    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Tell the model, in the request, that it may run code."""

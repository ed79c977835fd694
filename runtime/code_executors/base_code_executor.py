"""The contract of a code executor."""

from __future__ import annotations

import abc

from runtime.models.llm_request import LlmRequest


class BaseCodeExecutor(abc.ABC):
    """Lets a model run code. A response that ends with a code result is followed by another step (contract E4)."""

    @abc.abstractmethod
    def process_llm_request(self, llm_request: LlmRequest) -> None:
        """Change the request so that the model may run code."""

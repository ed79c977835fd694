"""Models: the request to a model, its response, and the clients that call it (contract M1, M2)."""

from runtime.models.base_llm import BaseLlm, Capabilities
from runtime.models.google_llm import Gemini
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.registry import LLMRegistry

LLMRegistry.register(Gemini)

__all__ = ["BaseLlm", "Capabilities", "Gemini", "LLMRegistry", "LlmRequest", "LlmResponse"]

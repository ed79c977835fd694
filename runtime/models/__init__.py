"""Models: the request to a model, its response, and the clients that call it (contract M1, M2)."""

from runtime.models.anthropic_llm import Claude
from runtime.models.base_llm import BaseLlm, Capabilities, SetupProblem
from runtime.models.google_llm import Gemini
from runtime.models.lite_llm import LiteLlm
from runtime.models.llm_group import FallbackLlm, RouterLlm
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.openai_llm import OpenAICompatible
from runtime.models.registry import LLMRegistry

LLMRegistry.register(Gemini)
LLMRegistry.register(OpenAICompatible)
LLMRegistry.register(Claude)

__all__ = [
    "BaseLlm",
    "Capabilities",
    "Claude",
    "FallbackLlm",
    "Gemini",
    "LLMRegistry",
    "LiteLlm",
    "LlmRequest",
    "LlmResponse",
    "OpenAICompatible",
    "RouterLlm",
    "SetupProblem",
]

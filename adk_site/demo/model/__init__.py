"""The demo model: rules instead of a language model, for a site without an API key.

    LlmRequest -> ParsedRequest -> choice (call a function, transfer, or say a text) -> LlmResponse, streamed

The rules depend on the request only and not on the demo agents, so the model works with any agent.
"""

from adk_site.demo.model.demo_model import DemoModel

__all__ = ["DemoModel"]

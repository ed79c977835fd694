"""The demo model: rules in the place of a language model, for a site without an API key.

    request -> turn (what is asked of whom) -> choice (call a tool, hand over, or say something) -> words, streamed

It knows nothing of the demo agents: everything it does follows from the request, so it works with any agent.
"""

from adk_site.demo.model.demo_model import DemoModel

__all__ = ["DemoModel"]

"""The tool `google_maps`: places and routes, looked up by Gemini on Vertex AI (contract T9)."""

from runtime import types
from runtime.tools.base_tool import ModelSideTool


class GoogleMapsGroundingTool(ModelSideTool):
    """Lets Gemini use Google Maps while it answers."""

    def __init__(self) -> None:
        super().__init__(
            name="google_maps",
            description="Looks up places.",
            tool=types.Tool(google_maps=types.GoogleMaps()),
        )


google_maps_grounding = GoogleMapsGroundingTool()

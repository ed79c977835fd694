"""Agent card of an app."""

from __future__ import annotations

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol

from runtime.a2a.parts import encodable
from runtime.apps.app import App

VERSION = "1"
INPUT_MODES = ("text/plain", "application/json", "application/octet-stream")
OUTPUT_MODES = ("text/plain", "application/octet-stream")


def card_of(app: App, url: str) -> AgentCard:
    """Return the card of an app that is served at the URL. The card does not tell of agents below the root."""
    name, description = app.name, encodable(app.root_agent.description or app.name)
    bearer = HTTPAuthSecurityScheme(scheme="Bearer", description="An API key of the site.")
    return AgentCard(
        name=name,
        description=description,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=TransportProtocol.JSONRPC, protocol_version=version)
            for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        security_schemes={"key": SecurityScheme(http_auth_security_scheme=bearer)},
        security_requirements=[SecurityRequirement(schemes={"key": StringList()})],
        default_input_modes=INPUT_MODES,
        default_output_modes=OUTPUT_MODES,
        skills=[AgentSkill(id=name, name=name, description=description, tags=["chat"])],
    )

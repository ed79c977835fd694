"""Bodies of requests and responses, with ADK's names: camelCase, and the names of Python in requests as well."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime.events import Event


class AdkSchema(Schema):
    """Base of schemas with fields whose names have several words."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AppDetails(AdkSchema):
    """An app as `/list-apps?detailed=true` has it. Its agents are left out: their instructions are the site's own."""

    name: str
    root_agent_name: str
    description: str
    language: Literal["python"] = "python"
    is_computer_use: bool = False
    agents: None = None


class AppList(AdkSchema):
    """The apps of the site."""

    apps: list[AppDetails]


class Version(Schema):
    """Version of ADK's contract, and of Python."""

    version: str
    language: str
    language_version: str


class Telemetry(Schema):
    """Consent of the site to reports of adk-web."""

    telemetry: bool


class SessionJson(AdkSchema):
    """A session with its events, which `Event` of google-adk describes."""

    id: str
    app_name: str
    user_id: str
    state: dict[str, Any]
    events: list[dict[str, Any]]
    last_update_time: float


class NewSession(AdkSchema):
    """A session to create.

    Attributes:
        session_id: id of the session; without it, a random id.
        events: a conversation to begin with.
    """

    session_id: str | None = None
    state: dict[str, Any] | None = None
    events: list[Event] | None = None


class StateChange(AdkSchema):
    """New values of a session's state by key."""

    state_delta: dict[str, Any]


class ArtifactVersion(AdkSchema):
    """A version of a file.

    Attributes:
        canonical_uri: address of the download.
        create_time: seconds since the epoch.
    """

    version: int
    canonical_uri: str
    custom_metadata: dict[str, Any] = Field(default_factory=dict)
    create_time: float
    mime_type: str | None


class RememberedSession(AdkSchema):
    """A session to remember."""

    session_id: str


class Memories(Schema):
    """Entries of the memory, best first, as `MemoryEntry` of google-adk describes them."""

    memories: list[dict[str, Any]]

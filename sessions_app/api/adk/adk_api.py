"""API with the addresses of google-adk's `api_server`, under `/adk/`.

The operations here are about the site: its apps, the version, and the consent to telemetry, which it does not give.
"""

import platform
from typing import Literal

from django.conf import settings
from django.http import HttpRequest
from ninja import Router, Schema

from sessions_app.api.access.authentication import KeyAuth, SignInAuth
from sessions_app.api.access.callers import caller_of
from sessions_app.api.access.problems import add_problem_handlers
from sessions_app.api.adk import artifacts, graphs, sessions
from sessions_app.api.adk.names import AdkSchema
from sessions_app.api.adk.runs import ADK_STREAMS
from sessions_app.api.json_bodies import AdkParser
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.extensions import extensions
from sessions_app.models import Scope
from sessions_app.sessions.agent_access import usable_apps

ADK_VERSION = "2.13.0"
"""Version of google-adk with whose server this API agrees."""
router = Router(tags=["about"], by_alias=True)


class TokenAuth(SignInAuth):
    """A browser's sign-in. A write needs the CSRF token, in Django's header or in that of Angular."""

    def _get_key(self, request: HttpRequest) -> str | None:
        # adk-web sends the token under Angular's name. django-ninja checks it when it reads the cookie.
        if token := request.META.get("HTTP_X_XSRF_TOKEN"):
            request.META.setdefault(settings.CSRF_HEADER_NAME, token)
        return super()._get_key(request)


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


@router.get("/list-apps", response=list[str] | AppList)
async def list_apps(request: HttpRequest, detailed: bool = False) -> list[str] | AppList:
    """List the apps that the person of the caller may use; with `detailed` also root agents and descriptions."""
    caller = caller_of(request)
    caller.require(Scope.READ)
    apps = sorted((await usable_apps(caller.user)).items())
    if not detailed:
        return [name for name, _ in apps]
    roots = [(name, app.root_agent) for name, app in apps]
    return AppList(
        apps=[
            AppDetails(name=name, root_agent_name=root.name, description=root.description or "")
            for name, root in roots
        ]
    )


@router.get("/version", response=Version)
async def version(request: HttpRequest) -> Version:
    """Return the version of google-adk with whose server this API agrees, and that of Python."""
    return Version(version=ADK_VERSION, language="python", language_version=platform.python_version())


@router.get("/config/telemetry", response=Telemetry)
async def telemetry(request: HttpRequest) -> Telemetry:
    """Tell that adk-web must not report its use."""
    return Telemetry(telemetry=False)


routers = [router, *(subject.router for subject in (graphs, sessions, artifacts))]
for extension in extensions():
    routers += extension.adk_routers()

adk_api = StreamingApi(
    ADK_STREAMS,
    title="Agents of this site, for clients of the Agent Development Kit",
    version=ADK_VERSION,
    description="Addresses and JSON of google-adk's api_server.",
    urls_namespace="api-adk",
    auth=(KeyAuth(), TokenAuth()),
    parser=AdkParser(),
)
add_problem_handlers(adk_api)
for operations in routers:
    adk_api.add_router("", operations)

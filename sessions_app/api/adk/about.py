"""The apps of the site, the version, and the consent to telemetry, which the site does not give."""

from __future__ import annotations

import platform

from django.http import HttpRequest
from ninja import Router

from sessions_app.api.access.callers import caller_of
from sessions_app.api.adk.schemas import AppDetails, AppList, Telemetry, Version
from sessions_app.models import Scope
from sessions_app.sessions.agent_access import usable_apps

ADK_VERSION = "2.13.0"
"""Version of google-adk with whose server this API agrees."""
router = Router(tags=["about"], by_alias=True)


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

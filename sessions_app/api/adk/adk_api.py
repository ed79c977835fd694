"""API with the addresses of google-adk's `api_server`, under `/adk/`."""

from __future__ import annotations

from sessions_app.api.access.problems import add_problem_handlers
from sessions_app.api.adk import about, artifacts, memory, sessions, traces
from sessions_app.api.adk.authentication import AUTHENTICATION
from sessions_app.api.adk.runs import ADK_STREAMS
from sessions_app.api.json_bodies import AdkParser
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.extensions import extensions

routers = [subject.router for subject in (about, sessions, artifacts, memory, traces)]
for extension in extensions():
    routers += extension.adk_routers()

adk_api = StreamingApi(
    ADK_STREAMS,
    title="Agents of this site, for clients of the Agent Development Kit",
    version=about.ADK_VERSION,
    description="Addresses and JSON of google-adk's api_server.",
    urls_namespace="api-adk",
    auth=AUTHENTICATION,
    parser=AdkParser(),
)
add_problem_handlers(adk_api)
for router in routers:
    adk_api.add_router("", router)

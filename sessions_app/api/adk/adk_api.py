"""API with the addresses of google-adk's `api_server`, under `/adk/`."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from sessions_app.api.access.authentication import KeyAuth, SignInAuth
from sessions_app.api.access.problems import add_problem_handlers
from sessions_app.api.adk import about, artifacts, graphs, memory, sessions, traces
from sessions_app.api.adk.runs import ADK_STREAMS
from sessions_app.api.json_bodies import AdkParser
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.extensions import extensions


class TokenAuth(SignInAuth):
    """A browser's sign-in. A write needs the CSRF token, in Django's header or in that of Angular."""

    def _get_key(self, request: HttpRequest) -> str | None:
        # adk-web sends the token under Angular's name. django-ninja checks it when it reads the cookie.
        if token := request.META.get("HTTP_X_XSRF_TOKEN"):
            request.META.setdefault(settings.CSRF_HEADER_NAME, token)
        return super()._get_key(request)


routers = [subject.router for subject in (about, graphs, sessions, artifacts, memory, traces)]
for extension in extensions():
    routers += extension.adk_routers()

adk_api = StreamingApi(
    ADK_STREAMS,
    title="Agents of this site, for clients of the Agent Development Kit",
    version=about.ADK_VERSION,
    description="Addresses and JSON of google-adk's api_server.",
    urls_namespace="api-adk",
    auth=(KeyAuth(), TokenAuth()),
    parser=AdkParser(),
)
add_problem_handlers(adk_api)
for router in routers:
    adk_api.add_router("", router)

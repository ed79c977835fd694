"""The site's own API, version 1: its routers and its OpenAPI document."""

from typing import Any

from csp.decorators import csp_update
from ninja.openapi.schema import OpenAPISchema

from sessions_app.api.access.authentication import AUTHENTICATION
from sessions_app.api.access.problems import add_problem_handlers
from sessions_app.api.document import add_idempotency_keys
from sessions_app.api.idempotency import add_idempotency
from sessions_app.api.json_bodies import JsonParser
from sessions_app.api.site_streams import API_STREAMS
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.api.v1 import (
    account,
    approvals,
    events,
    files,
    jobs,
    keys,
    runs,
    schedules,
    sessions,
    webhooks,
)


class SiteApi(StreamingApi):
    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the document, with the header `Idempotency-Key` for all writes."""
        document = super().get_openapi_schema(**options)
        add_idempotency_keys(document)
        return document


site_api = SiteApi(
    API_STREAMS,
    title="Agents of this site",
    version="1",
    description="Conversations with the site's agents, for programs.",
    urls_namespace="api-v1",
    auth=AUTHENTICATION,
    parser=JsonParser(),
    docs_decorator=csp_update({"img-src": ["data:"]}),  # images in swagger-ui's styles
)
add_problem_handlers(site_api)
add_idempotency(site_api)  # before the routers: django-ninja decorates operations when their router is added
for module in (
    account,
    sessions,
    events,
    runs,
    approvals,
    jobs,
    schedules,
    files,
    keys,
    webhooks,
):
    site_api.add_router("", module.router)

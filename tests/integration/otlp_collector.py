"""A collector of spans on this machine, to which the site exports them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sessions_app.asgi.protocol import read_body, send_response
from sessions_app.conf import conf
from sessions_app.history.telemetry import span_export
from sessions_app.invocations.worker import worker
from sessions_app.process.threads import in_thread


class Collector:
    """Takes spans by OTLP over HTTP, as Phoenix and Langfuse do."""

    configure: Callable[..., None]

    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._bodies.append(await read_body(receive, 10_000_000))
        await send_response(send, HttpResponse(b"", content_type="application/x-protobuf"))

    async def requests(self) -> list[ExportTraceServiceRequest]:
        """Return what the site has sent until now."""
        await asyncio.gather(*worker()._background_tasks)
        await in_thread(span_export._provider(conf().otlp_endpoint).force_flush)
        return [ExportTraceServiceRequest.FromString(body) for body in self._bodies]

    async def sent(self) -> str:
        return "".join(MessageToJson(request, ensure_ascii=False) for request in await self.requests())

    async def protobuf_spans(self) -> list[Any]:
        return [
            span
            for request in await self.requests()
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    async def spans(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of all spans, by the span's name."""
        return {
            span.name: {
                item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes
            }
            for span in await self.protobuf_spans()
        }
